/* Files whose names hold quotes, brackets, control characters and bytes that are not UTF-8; a name
 * reached by a relative path from another directory; and one that is renamed while open. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "must.h"

static void touch(const char *name)
{
	int fd = open(name, O_RDWR | O_CREAT, 0644);

	MUST(fd >= 0 && pwrite(fd, "x", 1, 0) == 1 && close(fd) == 0);
}

int main(int argc, char **argv)
{
	MUST(argc == 2 && chdir(argv[1]) == 0);
	touch("a \"quoted\" [name] {here}, 'too' \\");
	touch("tab\tline\nend");
	touch("umlaut \xc3\xbc");
	touch("not utf-8 \xff\xfe");
	MUST(mkdir("sub", 0755) == 0 && mkdir("sub/deep", 0755) == 0 && chdir("sub/deep") == 0);
	touch("../../from-below");
	int directory = open("..", O_RDONLY | O_DIRECTORY);
	int fd = openat(directory, "../moved", O_RDWR | O_CREAT, 0644);
	MUST(pwrite(fd, "xy", 2, 0) == 2);
	MUST(rename("../../moved", "../../renamed") == 0);
	MUST(pwrite(fd, "xyz", 3, 0) == 3);
	return 0;
}
