/* Copies a file of six bytes, asking for all that there may be. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	char name[4096];
	int from, to;

	snprintf(name, sizeof(name), "%s/from", argv[argc - 1]);
	from = open(name, O_CREAT | O_RDWR | O_TRUNC, 0644);
	snprintf(name, sizeof(name), "%s/to", argv[argc - 1]);
	to = open(name, O_CREAT | O_RDWR | O_TRUNC, 0644);
	if (write(from, "hello\n", 6) != 6 || lseek(from, 0, SEEK_SET))
		return 1;
	while (copy_file_range(from, NULL, to, NULL, SSIZE_MAX, 0) > 0)
		;
	return close(to);
}
