/* Children made in every way: fork, the raw system call, clone, vfork + exec, posix_spawn, and a child
 * that execs and forks again. Parent and child share a descriptor and write at offsets of their own:
 *	forks FILE            makes them all
 *	forks FILE child N    is one that was exec'ed: writes at offset N */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "must.h"

extern char **environ;
static int fd;
static char *self, *file;

static void put(int at)
{
	MUST(pwrite(fd, "x", 1, at) == 1);
}

static void ended(pid_t child)
{
	int status;

	MUST(child > 0 && waitpid(child, &status, __WALL) == child);
	MUST(WIFEXITED(status) && WEXITSTATUS(status) == 7);
}

static void by_fork(void)
{
	pid_t child = fork();

	if (!child) {
		put(1);
		exit(7);
	}
	ended(child);
}

static void by_system_call(void)
{
	pid_t child = (pid_t)syscall(SYS_fork);

	if (!child) {
		put(2);
		put(3);
		_exit(7);
	}
	put(100);
	ended(child);
}

static int cloned(void *argument)
{
	(void)argument;
	put(4);
	_exit(7);
}

static int cloned_like_vfork(void *argument)
{
	(void)argument;
	put(9);
	return 7;
}

static int cloned_and_exec(void *argument)
{
	(void)argument;
	put(10);
	execl(self, self, file, "child", "11", NULL);
	return 1;
}

static void by_clone(void)
{
	static char stack[256 * 1024] __attribute__((aligned(64)));

	ended(clone(cloned, stack + sizeof(stack), SIGCHLD, NULL));
	ended(clone(cloned_like_vfork, stack + sizeof(stack), CLONE_VM | CLONE_VFORK | SIGCHLD,
		    NULL));
	put(104);
	ended(clone(cloned_and_exec, stack + sizeof(stack), CLONE_VM | CLONE_VFORK | SIGCHLD,
		    NULL));
}

static void by_vfork(void)
{
	char *const arguments[] = {self, file, "child", "5", NULL};
	pid_t child = vfork();

	if (!child) {
		execve(self, arguments, environ);
		_exit(1);
	}
	put(101);
	ended(child);
}

static void by_failing_vfork(void)
{
	char *const arguments[] = {"absent", NULL};
	pid_t child = vfork();

	if (!child) {
		execve("/absent", arguments, environ);
		_exit(7);
	}
	put(102);
	ended(child);
}

static void by_spawn(void)
{
	char *const arguments[] = {self, file, "child", "6", NULL};
	pid_t child;

	MUST(posix_spawn(&child, self, NULL, NULL, arguments, environ) == 0);
	ended(child);
}

static void by_fork_and_exec(void)
{
	pid_t child = fork();

	if (!child) {
		put(7);
		execl(self, self, file, "child", "8", NULL);
		_exit(1);
	}
	ended(child);
}

static int child(const char *number)
{
	put(atoi(number));
	if (!strcmp(number, "8"))
		by_fork();
	return 7;
}

int main(int argc, char **argv)
{
	MUST(argc >= 2);
	self = argv[0];
	file = argv[1];
	fd = open(file, O_RDWR | O_CREAT, 0644);
	MUST(fd >= 0);
	if (argc == 4)
		return child(argv[3]);
	put(99);
	by_fork();
	by_system_call();
	by_clone();
	by_vfork();
	by_failing_vfork();
	by_spawn();
	by_fork_and_exec();
	put(103);
	return 0;
}
