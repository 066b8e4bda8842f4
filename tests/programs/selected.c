/* Calls to select from: three files, two functions, an inlined one, two regions, reads and writes.
 * selected DIR [SECONDS]: with a pause in the middle. */
#include <fathom.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "must.h"

static int restart, text, hidden;

static int open_in(const char *directory, const char *name)
{
	char path[4096];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0644);
	MUST(fd >= 0);
	return fd;
}

__attribute__((always_inline)) static inline void put(int fd, int at)
{
	MUST(pwrite(fd, "12345678", 8, 8 * at) == 8);
}

__attribute__((noinline)) static void write_restart(void)
{
	for (int i = 0; i < 5; i++)
		put(restart, i);
	put(hidden, 0);
	MUST(fsync(restart) == 0);
}

__attribute__((noinline)) static void write_text(void)
{
	for (int i = 0; i < 7; i++)
		put(text, i);
}

__attribute__((noinline)) static void read_back(void)
{
	char got[8];

	for (int i = 0; i < 3; i++)
		MUST(pread(restart, got, 8, 8 * i) == 8);
	MUST(pread(text, got, 8, 0) == 8);
}

static void in_regions(void)
{
	fathom_begin("checkpoint");
	write_restart();
	fathom_begin_int("step", "number", 1);
	write_text();
	fathom_end("step");
	fathom_end("checkpoint");
}

int main(int argc, char **argv)
{
	char path[4096];

	MUST(argc >= 2);
	snprintf(path, sizeof(path), "%s/tmp", argv[1]);
	MUST(mkdir(path, 0755) == 0);
	restart = open_in(argv[1], "a.rst");
	text = open_in(argv[1], "b.log");
	hidden = open_in(path, "c.rst");
	write_restart();
	write_text();
	read_back();
	if (argc > 2)
		usleep((useconds_t)(1e6 * atof(argv[2])));
	in_regions();
	write_restart();
	MUST(close(restart) == 0 && close(text) == 0 && close(hidden) == 0);
	return 0;
}
