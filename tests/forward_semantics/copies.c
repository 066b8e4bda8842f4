/* Copies from descriptor to descriptor. */
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>

#include "semantics.h"

static void copy_range(void)
{
	int from = file_with("f", "0123456789"), to = file_with("g", "");
	off_t at = 2;

	SAY(copy_file_range(from, &at, to, NULL, 4, 0));
	say("from %ld", (long)at);
	SAY(copy_file_range(from, NULL, to, NULL, 100, 0));
	say("at %ld, at %ld", (long)lseek(from, 0, SEEK_CUR), (long)lseek(to, 0, SEEK_CUR));
	say_content("g");
}

static void copy_range_within(void)
{
	int fd = file_with("f", "0123456789");
	off_t from = 0, to = 5;

	SAY(copy_file_range(fd, &from, fd, &to, 6, 0));
	SAY(copy_file_range(fd, &from, fd, &to, 5, 0));
	from = 5;
	to = 20;
	SAY(copy_file_range(fd, &from, fd, &to, 1000, 0));
	say_content("f");
	from = 100;
	SAY(copy_file_range(fd, &from, fd, &to, 10, 0));
}

static void copy_range_mistakes(void)
{
	int from = file_with("f", "0123456789"), to = file_with("g", ""), reader, dir;
	off_t at = -1;

	reader = (int)MUST(open(in("g"), O_RDONLY));
	dir = (int)MUST(open(in("."), O_RDONLY));
	SAY(copy_file_range(from, NULL, to, NULL, 4, 1));
	SAY(copy_file_range(from, &at, to, NULL, 4, 0));
	SAY(copy_file_range(from, NULL, reader, NULL, 4, 0));
	SAY(copy_file_range(dir, NULL, to, NULL, 4, 0));
	MUST(fcntl(to, F_SETFL, O_APPEND));
	SAY(copy_file_range(from, NULL, to, NULL, 4, 0));
}

static void copy_range_from_memory(void)
{
	int from = (int)MUST(memfd_create("m", 0)), to = file_with("g", "");

	MUST(pwrite(from, "text", 4, 0));
	SAY(copy_file_range(from, NULL, to, NULL, 4, 0));
}

static void send_file(void)
{
	int from = file_with("f", "0123456789"), to = file_with("g", "");
	off_t at = 2;

	SAY(sendfile(to, from, &at, 4));
	say("from %ld", (long)at);
	SAY(sendfile(to, from, NULL, 100));
	say_content("g");
	SAY(sendfile(to, from, NULL, 100));
}

static void send_file_to_pipe(void)
{
	int from = file_with("f", "0123456789"), ends[2];
	off_t at = 8;

	MUST(pipe(ends));
	SAY(sendfile(ends[1], from, &at, 100));
	say_read(ends[0]);
}

static void send_file_mistakes(void)
{
	int from = file_with("f", "0123456789"), to = file_with("g", ""), reader;
	off_t at = -1;

	reader = (int)MUST(open(in("g"), O_RDONLY));
	SAY(sendfile(to, from, &at, 4));
	SAY(sendfile(reader, from, NULL, 4));
	MUST(fcntl(to, F_SETFL, O_APPEND));
	SAY(sendfile(to, from, NULL, 4));
}

static void splices(void)
{
	int from = file_with("f", "0123456789"), to = file_with("g", ""), ends[2];
	off_t at = 2;

	MUST(pipe(ends));
	SAY(splice(from, &at, ends[1], NULL, 4, 0));
	SAY(splice(ends[0], NULL, to, NULL, 100, 0));
	say_content("g");
	at = 10;
	SAY(splice(from, &at, ends[1], NULL, 4, 0));
}

static void splice_mistakes(void)
{
	int from = file_with("f", "0123456789"), to = file_with("g", ""), ends[2];

	MUST(pipe(ends));
	MUST(write(ends[1], "text", 4));
	SAY(splice(from, NULL, to, NULL, 4, 0));
	MUST(fcntl(to, F_SETFL, O_APPEND));
	SAY(splice(ends[0], NULL, to, NULL, 4, 0));
}

static void clone(void)
{
	int from = file_with("f", "0123456789"), to = file_with("g", "");

	SAY(ioctl(to, FICLONE, from));
}

static void ioctls(void)
{
	int fd = file_with("f", "0123456789"), n = 0;

	MUST(lseek(fd, 4, SEEK_SET));
	SAY(ioctl(fd, FIONREAD, &n));
	say("%d", n);
	SAY(ioctl(fd, FS_IOC_GETFLAGS, &n) ? -1 : 0);
	SAY(ioctl(fd, 0x5401 /* TCGETS */, &n));
}

const struct check copy_checks[] = {
	{"copies", "copy_file_range at an offset, at the positions; positions", copy_range},
	{"copies", "copy_file_range within a file: overlapping, not, over its end, beyond it",
	 copy_range_within},
	{"copies", "copy_file_range with a flag, at -1, to O_RDONLY, of a directory, to O_APPEND",
	 copy_range_mistakes},
	{"copies", "copy_file_range from a file of another file system (memory)",
	 copy_range_from_memory},
	{"copies", "sendfile at an offset, at the position, at the end", send_file},
	{"copies", "sendfile to a pipe", send_file_to_pipe},
	{"copies", "sendfile at -1, to O_RDONLY, to O_APPEND", send_file_mistakes},
	{"copies", "splice to a pipe, from it, at the end", splices},
	{"copies", "splice from file to file, to O_APPEND", splice_mistakes},
	{"copies", "ioctl FICLONE", clone},
	{"copies", "ioctl FIONREAD, FS_IOC_GETFLAGS, one of terminals", ioctls},
	{0},
};
