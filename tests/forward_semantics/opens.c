/* Flags of open. */
#include <sys/time.h>

#include "semantics.h"

static void exclusive(void)
{
	file_with("f", "text");
	MUST(symlink("nowhere", in("dangling")));
	SAY(open(in("f"), O_CREAT | O_EXCL | O_RDWR, 0600));
	SAY(open(in("dangling"), O_CREAT | O_EXCL | O_RDWR, 0600));
	SAY(open(in("new"), O_CREAT | O_EXCL | O_RDWR, 0600) < 0 ? -1 : 0);
}

static void create_through_link(void)
{
	MUST(symlink("target", in("dangling")));
	SAY(open(in("dangling"), O_CREAT | O_RDWR, 0600) < 0 ? -1 : 0);
	SAY(access(in("target"), F_OK));
}

static void create_modes(void)
{
	struct stat about;
	int fd = (int)MUST(open(in("f"), O_CREAT | O_RDWR, 0));

	SAY(write(fd, "text", 4));
	MUST(fstat(fd, &about));
	say("%04o", about.st_mode & 07777);
	umask(027);
	fd = (int)MUST(open(in("g"), O_CREAT | O_RDWR, 06777));
	MUST(fstat(fd, &about));
	say("%04o", about.st_mode & 07777);
}

static void nofollow(void)
{
	file_with("f", "text");
	MUST(symlink("f", in("link")));
	SAY(open(in("link"), O_RDONLY | O_NOFOLLOW));
	SAY(open(in("f"), O_RDONLY | O_NOFOLLOW) < 0 ? -1 : 0);
}

static void directory(void)
{
	file_with("f", "text");
	SAY(open(in("f"), O_RDONLY | O_DIRECTORY));
	SAY(open(in("f"), O_RDWR | O_CREAT | O_DIRECTORY, 0600));
	SAY(open(in("new"), O_RDWR | O_CREAT | O_DIRECTORY, 0600));
	SAY(open(in("."), O_RDWR));
	SAY(open(in("."), O_RDONLY | O_DIRECTORY) < 0 ? -1 : 0);
}

static void truncate_it(void)
{
	file_with("f", "text");
	SAY(open(in("f"), O_RDONLY | O_TRUNC) < 0 ? -1 : 0);
	say("%ld bytes", size_of("f"));
}

static void append(void)
{
	int fd, other = file_with("f", "one ");

	fd = (int)MUST(open(in("f"), O_RDWR | O_APPEND));
	MUST(write(fd, "two ", 4));
	MUST(pwrite(other, "three ", 6, 8));
	MUST(write(fd, "four ", 5));
	say("at %ld", (long)lseek(fd, 0, SEEK_CUR));
	MUST(pwrite(fd, "end", 3, 0));
	say_content("f");
}

static void append_by_fcntl(void)
{
	int fd = file_with("f", "one ");

	SAY(fcntl(fd, F_SETFL, O_APPEND));
	MUST(write(fd, "two ", 4));
	MUST(fcntl(fd, F_SETFL, 0));
	MUST(pwrite(fd, "ONE", 3, 0));
	say_content("f");
}

/* The time of the last read, as it was set, or another. */
static void say_read_time(int flags)
{
	static const struct timespec old[2] = {{1000, 0}, {2000, 0}};
	struct stat about;
	int fd = open(in("f"), O_RDONLY | flags);
	char byte;

	if (fd < 0) {
		say_result(fd);
		return;
	}
	MUST(futimens(fd, old));
	MUST(read(fd, &byte, 1));
	MUST(fstat(fd, &about));
	say(about.st_atim.tv_sec == 1000 ? "kept" : "now");
}

static void noatime(void)
{
	file_with("f", "text");
	say_read_time(0);
	say_read_time(O_NOATIME);
}

static void noatime_of_other(void)
{
	MUST(chmod(in(""), 0777));
	file_with("f", "text");
	become_nobody();
	SAY(open(in("f"), O_RDONLY | O_NOATIME));
}

static void noatime_by_fcntl(void)
{
	static const struct timespec old[2] = {{1000, 0}, {2000, 0}};
	int fd = file_with("f", "text");
	struct stat about;
	char byte;

	SAY(fcntl(fd, F_SETFL, O_NOATIME));
	MUST(futimens(fd, old));
	MUST(read(fd, &byte, 1));
	MUST(fstat(fd, &about));
	say(about.st_atim.tv_sec == 1000 ? "kept" : "now");
}

static void tmpfile_(void)
{
	struct stat about;
	int fd = open(in("."), O_RDWR | O_TMPFILE, 0640);

	if (fd < 0) {
		say_result(fd);
		return;
	}
	SAY(write(fd, "text", 4));
	MUST(fstat(fd, &about));
	say("%d names, %04o", (int)about.st_nlink, about.st_mode & 07777);
	MUST(lseek(fd, 0, SEEK_SET));
	say_read(fd);
}

static void tmpfile_gets_a_name(void)
{
	int fd = open(in("."), O_RDWR | O_TMPFILE, 0640);
	char path[40];

	if (fd < 0) {
		say_result(fd);
		return;
	}
	MUST(write(fd, "text", 4));
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	SAY(linkat(AT_FDCWD, path, AT_FDCWD, in("f"), AT_SYMLINK_FOLLOW));
	SAY(linkat(fd, "", AT_FDCWD, in("g"), AT_EMPTY_PATH));
	say_content("f");
	fd = (int)MUST(open(in("."), O_RDWR | O_TMPFILE | O_EXCL, 0640));
	SAY(linkat(fd, "", AT_FDCWD, in("h"), AT_EMPTY_PATH));
}

static void tmpfile_mistakes(void)
{
	file_with("f", "text");
	SAY(open(in("."), O_RDONLY | O_TMPFILE, 0640));
	SAY(open(in("f"), O_RDWR | O_TMPFILE, 0640));
	SAY(open(in("nowhere"), O_RDWR | O_TMPFILE, 0640));
}

static void path_only(void)
{
	struct stat about;
	int fd, dir;
	char byte;

	file_with("f", "text");
	fd = (int)MUST(open(in("f"), O_PATH));
	SAY(read(fd, &byte, 1));
	SAY(write(fd, "x", 1));
	SAY(fstat(fd, &about));
	SAY(fchmod(fd, 0600));
	SAY(ftruncate(fd, 0));
	SAY(fcntl(fd, F_SETFL, O_APPEND));
	dir = (int)MUST(open(in("."), O_PATH | O_DIRECTORY));
	SAY(openat(dir, "f", O_RDONLY) < 0 ? -1 : 0);
}

static void path_of_link(void)
{
	struct stat about = {0};
	char target[20] = "";
	int fd;

	MUST(symlink("nowhere", in("link")));
	fd = open(in("link"), O_PATH | O_NOFOLLOW);
	if (fd < 0) {
		say_result(fd);
		return;
	}
	MUST(fstat(fd, &about));
	say(S_ISLNK(about.st_mode) ? "a link" : "no link");
	SAY(readlinkat(fd, "", target, sizeof(target)));
}

static void direct(void)
{
	char *memory;
	int fd = open(in("f"), O_CREAT | O_RDWR | O_DIRECT, 0600);

	if (fd < 0 || posix_memalign((void **)&memory, 4096, 8192)) {
		say_result(-1);
		return;
	}
	memset(memory, 'x', 8192);
	SAY(write(fd, memory, 4096));
	SAY(pwrite(fd, memory + 1, 100, 0));
	SAY(pread(fd, memory, 4096, 0));
	say(fcntl(fd, F_GETFL) & O_DIRECT ? "O_DIRECT" : "not O_DIRECT");
}

static void synchronous(void)
{
	int fd = (int)MUST(open(in("f"), O_CREAT | O_RDWR | O_SYNC, 0600));

	SAY(write(fd, "text", 4));
	say((fcntl(fd, F_GETFL) & O_SYNC) == O_SYNC ? "O_SYNC" : "not O_SYNC");
	fd = (int)MUST(open(in("f"), O_RDWR | O_DSYNC));
	SAY(write(fd, "text", 4));
	say((fcntl(fd, F_GETFL) & O_SYNC) == O_DSYNC ? "O_DSYNC" : "not O_DSYNC");
}

static void as_other_user(void)
{
	MUST(chmod(in(""), 0777));
	file_with("f", "text");
	MUST(chmod(in("f"), 0600));
	become_nobody();
	SAY(open(in("f"), O_RDONLY));
	SAY(open(in("mine"), O_CREAT | O_RDWR, 0600) < 0 ? -1 : 0);
}

static void slashes(void)
{
	file_with("f", "text");
	SAY(open(in("f/"), O_RDONLY));
	SAY(open(in("f/."), O_RDONLY));
	SAY(open(in("new/"), O_CREAT | O_RDWR, 0600));
	SAY(open(in("nowhere/f"), O_CREAT | O_RDWR, 0600));
	SAY(open("", O_RDONLY));
}

static void long_names(void)
{
	char name[4300];

	memset(name, 'n', sizeof(name));
	name[255] = 0;
	SAY(open(in(name), O_CREAT | O_RDWR, 0600) < 0 ? -1 : 0);
	name[255] = 'n';
	name[256] = 0;
	SAY(open(in(name), O_CREAT | O_RDWR, 0600));
	for (size_t i = 0; i < sizeof(name); i++)
		name[i] = i % 2 ? '/' : '.';
	name[sizeof(name) - 1] = 0;
	SAY(open(in(name), O_RDONLY));
}

static void by_proc(void)
{
	int fd = file_with("f", "text"), again;
	char path[40];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	again = open(path, O_RDONLY);
	say_read(again);
	SAY(write(again, "x", 1));
	again = open(path, O_WRONLY | O_APPEND);
	SAY(write(again, "x", 1));
	MUST(dup2(fd, 0));
	say_read(open("/dev/stdin", O_RDONLY));
}

static void flags_told(void)
{
	int fd = file_with("f", "text");

	say("%o", fcntl(fd, F_GETFL) & ~0100000);
	MUST(fcntl(fd, F_SETFL, O_NONBLOCK | O_APPEND));
	say("%o", fcntl(fd, F_GETFL) & ~0100000);
	fd = (int)MUST(open(in("f"), O_RDONLY | O_CLOEXEC));
	say("%d", fcntl(fd, F_GETFD));
}

const struct check open_checks[] = {
	{"open", "O_CREAT | O_EXCL of a file, of a dangling link, of no file", exclusive},
	{"open", "O_CREAT through a dangling link", create_through_link},
	{"open", "O_CREAT with mode 0, then written; with umask 027 and mode 6777", create_modes},
	{"open", "O_NOFOLLOW of a link, of a file", nofollow},
	{"open",
	 "O_DIRECTORY of a file; with O_CREAT of a file, of nothing; a directory with O_RDWR; with "
	 "O_DIRECTORY",
	 directory},
	{"open", "O_TRUNC with O_RDONLY", truncate_it},
	{"open", "O_APPEND beside another's writes, and pwrite", append},
	{"open", "O_APPEND set and taken by F_SETFL", append_by_fcntl},
	{"open", "time of reading, without and with O_NOATIME", noatime},
	{"open", "O_NOATIME set by F_SETFL", noatime_by_fcntl},
	{"open", "O_NOATIME of another user's file", noatime_of_other},
	{"open", "O_TMPFILE written, its names and mode, read", tmpfile_},
	{"open", "O_TMPFILE given a name by /proc, once more by AT_EMPTY_PATH; with O_EXCL",
	 tmpfile_gets_a_name},
	{"open", "O_TMPFILE with O_RDONLY, in a file, in no directory", tmpfile_mistakes},
	{"open", "O_PATH: read, write, fstat, fchmod, ftruncate, F_SETFL, openat", path_only},
	{"open", "O_PATH | O_NOFOLLOW of a link: fstat, readlinkat", path_of_link},
	{"open", "O_DIRECT: aligned write, another, aligned read, F_GETFL", direct},
	{"open", "O_SYNC, O_DSYNC: write, F_GETFL", synchronous},
	{"open", "by another user: a file of mode 0600, a new one", as_other_user},
	{"open", "of f/, f/., new/ with O_CREAT, in no directory, an empty path", slashes},
	{"open", "a name of 255 bytes, of 256, a path of 4,300", long_names},
	{"open", "once more by /proc/self/fd: read, written, opened to append, by /dev/stdin",
	 by_proc},
	{"open", "flags by F_GETFL, after F_SETFL, FD_CLOEXEC", flags_told},
	{0},
};
