/* What descriptors and processes share; the working directory. */
#include <limits.h>
#include <poll.h>
#include <spawn.h>
#include <sys/epoll.h>
#include <sys/syscall.h>

#include "semantics.h"

static void by_dup(void)
{
	int fd = file_with("f", "0123456789"), same = (int)MUST(dup(fd)),
	    other = (int)MUST(open(in("f"), O_RDWR));

	MUST(lseek(fd, 4, SEEK_SET));
	say("at %ld, at %ld", (long)lseek(same, 0, SEEK_CUR), (long)lseek(other, 0, SEEK_CUR));
	MUST(fcntl(same, F_SETFL, O_APPEND));
	say(fcntl(fd, F_GETFL) & O_APPEND ? "O_APPEND" : "no O_APPEND");
	MUST(close(fd));
	SAY(write(same, "x", 1));
	SAY(dup2(same, 50));
	SAY(dup3(same, same, 0));
	SAY(fcntl(same, F_DUPFD, 60));
}

static void child_reads(void *fd)
{
	char bytes[4];

	SAY(read(*(int *)fd, bytes, 4));
}

static void by_fork(void)
{
	int fd = file_with("f", "0123456789");

	in_child(child_reads, &fd);
	say("at %ld", (long)lseek(fd, 0, SEEK_CUR));
}

static void by_exec(void)
{
	int fd = file_with("f", "0123456789"), status;
	char *words[] = {"cat", NULL};
	posix_spawn_file_actions_t actions;
	pid_t child;

	MUST(lseek(fd, 4, SEEK_SET));
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, fd, 0);
	posix_spawn_file_actions_adddup2(&actions,
					 (int)MUST(open(in("g"), O_CREAT | O_WRONLY, 0600)), 1);
	say("%d", posix_spawn(&child, "/bin/cat", &actions, NULL, words, environ));
	MUST(waitpid(child, &status, 0));
	say_content("g");
	say("at %ld", (long)lseek(fd, 0, SEEK_CUR));
}

static void working_directory(void)
{
	char path[PATH_MAX], above[PATH_MAX];

	file_with("f", "text");
	MUST(mkdir(in("d"), 0755));
	snprintf(above, sizeof(above), "%s", in("d"));
	SAY(chdir(in("d")));
	MUST(getcwd(path, sizeof(path)) ? 0 : -1);
	say(strcmp(path, above) ? "another" : "it");
	SAY(access("../f", F_OK));
	SAY(getcwd(path, 3) ? 0 : -1);
	SAY(chdir(in("f")));
	SAY(chdir(in("nowhere")));
	SAY(fchdir((int)MUST(open("..", O_RDONLY))));
	SAY(access("f", F_OK));
	SAY(fchdir((int)MUST(open("f", O_RDONLY))));
}

static void working_directory_by_link(void)
{
	char path[PATH_MAX];

	MUST(mkdir(in("A"), 0755));
	MUST(mkdir(in("A/B"), 0755));
	file_with("A/x", "right");
	MUST(symlink("A/B", in("S")));
	MUST(chdir(in("S")));

	SAY(access("../x", F_OK));
	MUST(getcwd(path, sizeof(path)) ? 0 : -1);
	say("%s", strlen(path) > 4 ? path + strlen(path) - 4 : path);
}

static void working_directory_moves(void)
{
	char path[PATH_MAX];

	MUST(mkdir(in("d"), 0755));
	MUST(chdir(in("d")));
	MUST(rename(in("d"), in("e")));
	SAY(mkdir("x", 0755));
	SAY(access(in("e/x"), F_OK));
	say("%s", getcwd(path, sizeof(path)) ? path + strlen(path) - 2 : strerrorname_np(errno));
}

static void working_directory_removed(void)
{
	char path[PATH_MAX];

	MUST(mkdir(in("d"), 0755));
	MUST(chdir(in("d")));
	MUST(rmdir(in("d")));
	SAY(getcwd(path, sizeof(path)) ? 0 : -1);
	SAY(open("f", O_CREAT | O_RDWR, 0600));
	SAY(mkdir("x", 0755));
}

static void directory_moves(void)
{
	int dir;

	MUST(mkdir(in("d"), 0755));
	file_with("d/f", "text");
	dir = (int)MUST(open(in("d"), O_RDONLY | O_DIRECTORY));
	MUST(rename(in("d"), in("e")));
	MUST(mkdir(in("d"), 0755));
	SAY(faccessat(dir, "f", F_OK, 0));
	SAY(mkdirat(dir, "x", 0755));
	SAY(access(in("e/x"), F_OK));
	SAY(unlinkat(dir, "f", 0));
	SAY(renameat(dir, "x", dir, "y"));
	SAY(fchdir(dir));
	SAY(access("y", F_OK));
	SAY(unlinkat(dir, "../d", AT_REMOVEDIR));
}

static void links_in_directory(void)
{
	int dir;

	MUST(mkdir(in("d"), 0755));
	file_with("f", "text");
	MUST(symlink("../f", in("d/up")));
	dir = (int)MUST(open(in("d"), O_RDONLY | O_DIRECTORY));
	SAY(faccessat(dir, "up", F_OK, 0));
	SAY(faccessat(dir, "../f", F_OK, 0));
	SAY(openat(dir, "up", O_RDONLY) < 0 ? -1 : 0);
	SAY(unlinkat(dir, "up/", 0));
	SAY(unlinkat(dir, "up", 0));
}

static void file_moves(void)
{
	int fd = file_with("f", "text");
	struct stat about;

	MUST(rename(in("f"), in("g")));
	SAY(pwrite(fd, "T", 1, 0));
	SAY(fstat(fd, &about));
	say_content("g");
}

static void closed(void)
{
	int fd = file_with("f", "text");

	SAY(close(fd));
	SAY(close(fd));
	SAY(fcntl(fd, F_GETFD));
	fd = (int)MUST(open(in("f"), O_RDWR));
	SAY(close_range((unsigned)fd, (unsigned)fd, 0));
	SAY(write(fd, "x", 1));
}

static void lowest_number(void)
{
	int fd = file_with("f", "text"), next = (int)MUST(open(in("f"), O_RDONLY));

	say("%d", next - fd);
	MUST(close(fd));
	say("%d", (int)MUST(open(in("f"), O_RDONLY)) - fd);
}

static void polled(void)
{
	struct pollfd p = {.fd = file_with("f", "text"), .events = POLLIN | POLLOUT};

	SAY(poll(&p, 1, 0));
	say("%x", (unsigned)p.revents);
	SAY(epoll_ctl(epoll_create1(0), EPOLL_CTL_ADD, p.fd, &(struct epoll_event){0}));
}

static void by_number(void)
{
	int fd = file_with("f", "text");
	char byte;

	SAY(syscall(SYS_pread64, fd, &byte, 1, 0));
	SAY(syscall(SYS_openat, AT_FDCWD, in("f"), O_RDONLY, 0) < 0 ? -1 : 0);
}

static void name_by_proc(void)
{
	char link[40], path[PATH_MAX] = "";
	int fd = file_with("f", "text");

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	MUST(readlink(link, path, sizeof(path) - 1));
	say(strcmp(path, in("f")) ? "another" : "it");
}

const struct check process_checks[] = {
	{"descriptors", "dup: position, flags, after close, dup2, dup3 to itself, F_DUPFD", by_dup},
	{"descriptors", "fork: the position", by_fork},
	{"descriptors", "another program reads and writes them; position", by_exec},
	{"descriptors", "close, twice, F_GETFD, close_range, write", closed},
	{"descriptors", "the lowest free number", lowest_number},
	{"descriptors", "poll, epoll_ctl", polled},
	{"descriptors", "system calls by number: pread64, openat", by_number},
	{"descriptors", "/proc/self/fd names the file", name_by_proc},
	{"descriptors", "of a file that is renamed: written, fstat, the new name", file_moves},
	{"descriptors",
	 "of a directory that is renamed, its name another's: a file in it, mkdirat, by name, "
	 "unlinkat, renameat, fchdir, ../d",
	 directory_moves},
	{"descriptors",
	 "of a directory: a link upwards, ../f, openat of the link, unlinkat up/, up",
	 links_in_directory},
	{"working directory",
	 "chdir, getcwd, ../f, into 3 bytes, to a file, to nothing, fchdir, f, to a file",
	 working_directory},
	{"working directory", "chdir to a link: ../x; getcwd", working_directory_by_link},
	{"working directory", "is renamed: mkdir x, e/x, getcwd", working_directory_moves},
	{"working directory", "is removed: getcwd, open, mkdir", working_directory_removed},
	{0},
};
