/* two_folders A B: reads file after file, in turn from each of two folders: A/1, B/1, A/2, B/2 ... */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

enum { FILES = 40 };

static void read_all(const char *folder, int number)
{
	static char block[65536];
	char path[PATH_MAX];
	int fd;

	snprintf(path, sizeof(path), "%s/%d", folder, number);
	fd = open(path, O_RDONLY);
	while (read(fd, block, sizeof(block)) > 0)
		;
	close(fd);
}

int main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	for (int i = 0; i < FILES; i++) {
		read_all(argv[1], i);
		read_all(argv[2], i);
	}
	return 0;
}
