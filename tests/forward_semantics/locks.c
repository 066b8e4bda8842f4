/* Locks: fcntl, open file descriptions, flock. */
#include <sys/file.h>

#include "semantics.h"

static struct flock range(int type, long start, long length)
{
	return (struct flock){
		.l_type = (short)type, .l_whence = SEEK_SET, .l_start = start, .l_len = length};
}

static int lock(int fd, int cmd, int type, long start, long length)
{
	struct flock wanted = range(type, start, length);

	return fcntl(fd, cmd, &wanted);
}

static void say_holder(int fd, int cmd, long start, long length)
{
	struct flock wanted = range(F_WRLCK, start, length);

	if (fcntl(fd, cmd, &wanted)) {
		say_result(-1);
		return;
	}
	if (wanted.l_type == F_UNLCK)
		say("free");
	else
		say("%s %ld+%ld", wanted.l_type == F_RDLCK ? "read" : "write", (long)wanted.l_start,
		    (long)wanted.l_len);
}

static void other_asks(void *with)
{
	int fd = (int)MUST(open(in("f"), O_RDWR));

	(void)with;
	SAY(lock(fd, F_SETLK, F_WRLCK, 0, 5));
	SAY(lock(fd, F_SETLK, F_WRLCK, 50, 5));
	say_holder(fd, F_GETLK, 0, 0);
}

static void of_processes(void)
{
	int fd = file_with("f", "text");

	SAY(lock(fd, F_SETLK, F_RDLCK, 0, 10));
	in_child(other_asks, NULL);
	SAY(lock(fd, F_SETLK, F_UNLCK, 0, 0));
	in_child(other_asks, NULL);
}

static void child_inherits(void *fd)
{
	SAY(lock(*(int *)fd, F_SETLK, F_WRLCK, 0, 5));
}

static void not_inherited(void)
{
	int fd = file_with("f", "text");

	MUST(lock(fd, F_SETLK, F_WRLCK, 0, 10));
	in_child(child_inherits, &fd);
}

static void end_with_any_close(void)
{
	int fd = file_with("f", "text");

	MUST(lock(fd, F_SETLK, F_WRLCK, 0, 10));
	close((int)MUST(open(in("f"), O_RDONLY)));
	in_child(other_asks, NULL);
}

static void first_in_order(void)
{
	int fd = file_with("f", "text");

	MUST(lock(fd, F_SETLK, F_RDLCK, 1, 30));
	MUST(lock(fd, F_SETLK, F_WRLCK, 10, 5));
	in_child(other_asks, NULL);
}

static void mistakes(void)
{
	int fd = file_with("f", "text"), reader = (int)MUST(open(in("f"), O_RDONLY)),
	    writer = (int)MUST(open(in("f"), O_WRONLY));
	struct flock end = {.l_type = F_WRLCK, .l_whence = SEEK_END, .l_start = -10, .l_len = 1};

	SAY(lock(reader, F_SETLK, F_WRLCK, 0, 1));
	SAY(lock(writer, F_SETLK, F_RDLCK, 0, 1));
	SAY(lock(fd, F_SETLK, 99, 0, 1));
	SAY(lock(fd, F_SETLK, F_WRLCK, 10, -5));
	SAY(lock(fd, F_SETLK, F_WRLCK, 4, -5));
	SAY(fcntl(fd, F_SETLK, &end));
	SAY(lock(fd, F_SETLK, F_WRLCK, 100, 10));
}

static void of_open_files(void)
{
	int fd = file_with("f", "text"), other = (int)MUST(open(in("f"), O_RDWR)), same = dup(fd);

	SAY(lock(fd, F_OFD_SETLK, F_WRLCK, 0, 10));
	SAY(lock(other, F_OFD_SETLK, F_WRLCK, 5, 1));
	SAY(lock(same, F_OFD_SETLK, F_WRLCK, 5, 1));
	say_holder(other, F_OFD_GETLK, 0, 0);
	SAY(lock(other, F_SETLK, F_RDLCK, 0, 1));
	close(fd);
	SAY(lock(other, F_OFD_SETLK, F_WRLCK, 5, 1));
	close(same);
	SAY(lock(other, F_OFD_SETLKW, F_WRLCK, 5, 1));
}

static void whole_files(void)
{
	int fd = file_with("f", "text"), other = (int)MUST(open(in("f"), O_RDONLY)), same = dup(fd);

	SAY(flock(fd, LOCK_SH));
	SAY(flock(other, LOCK_SH | LOCK_NB));
	SAY(flock(fd, LOCK_EX | LOCK_NB));
	SAY(flock(other, LOCK_UN));
	SAY(flock(same, LOCK_EX | LOCK_NB));
	SAY(flock(other, LOCK_SH | LOCK_NB));
	SAY(flock(fd, LOCK_UN));
	SAY(flock(other, LOCK_EX | LOCK_NB));
	SAY(flock(fd, 16));
}

static void beside_ranges(void)
{
	int fd = file_with("f", "text"), other = (int)MUST(open(in("f"), O_RDWR));

	SAY(flock(fd, LOCK_EX));
	SAY(lock(other, F_OFD_SETLK, F_WRLCK, 0, 0));
}

static void child_unlocks(void *fd)
{
	SAY(flock(*(int *)fd, LOCK_UN));
}

static void shared_by_fork(void)
{
	int fd = file_with("f", "text"), other = (int)MUST(open(in("f"), O_RDONLY));

	MUST(flock(fd, LOCK_EX));
	in_child(child_unlocks, &fd);
	SAY(flock(other, LOCK_EX | LOCK_NB));
}

static void by_lockf(void)
{
	int fd = file_with("f", "text"), other = (int)MUST(open(in("f"), O_RDWR));

	SAY(lockf(fd, F_TLOCK, 10));
	SAY(lockf(fd, F_TEST, 10));
	SAY(lockf(fd, F_ULOCK, 0));
	MUST(lock(fd, F_OFD_SETLK, F_WRLCK, 0, 10));
	SAY(lockf(fd, F_TEST, 5));
	SAY(lockf(other, F_TEST, 5));
}

static void leases(void)
{
	int fd = file_with("f", "text");

	close(fd);
	fd = (int)MUST(open(in("f"), O_RDONLY));
	SAY(fcntl(fd, F_SETLEASE, F_RDLCK));
}

const struct check lock_checks[] = {
	{"locks", "F_SETLK 0+10: another process there, elsewhere, F_GETLK; after unlocking",
	 of_processes},
	{"locks", "F_SETLK: a child of fork", not_inherited},
	{"locks", "F_SETLK, then any descriptor of the file is closed: another process",
	 end_with_any_close},
	{"locks", "F_GETLK names the first one: read 1+9 of read 1+30, write 10+5", first_in_order},
	{"locks",
	 "F_WRLCK with O_RDONLY, F_RDLCK with O_WRONLY, of no kind, 10-5, 4-5, before 0, beyond "
	 "the end",
	 mistakes},
	{"locks",
	 "F_OFD_SETLK: another open file, a dup, F_OFD_GETLK, F_SETLK of the process; after one "
	 "close; waited for after both",
	 of_open_files},
	{"locks",
	 "flock: shared by two, then exclusive; one unlocks, by a dup, the other, ...; a wrong "
	 "operation",
	 whole_files},
	{"locks", "flock and a range of another open file", beside_ranges},
	{"locks", "flock: a child of fork unlocks", shared_by_fork},
	{"locks", "lockf, F_TEST, F_ULOCK; F_TEST beside an OFD lock of its own, of another",
	 by_lockf},
	{"locks", "F_SETLEASE", leases},
	{0},
};
