/* A child that shares the thread's memory and storage and runs beside it: both write. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "must.h"

enum { WRITES = 20000 };
static int fd;

static void put(int first, int count)
{
	for (int i = first; i < first + count; i++)
		MUST(pwrite(fd, "x", 1, i) == 1);
}

static int child(void *first)
{
	put(*(int *)first, WRITES);
	_exit(7);
}

static void *other_thread(void *unused)
{
	(void)unused;
	put(5, 5);
	return NULL;
}

int main(int argc, char **argv)
{
	static char stack[256 * 1024] __attribute__((aligned(64)));
	static int first = 100;
	pthread_t thread;
	pid_t pid;
	int status;

	MUST(argc == 2);
	fd = open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0644);
	MUST(fd >= 0);
	put(0, 5);
	pid = clone(child, stack + sizeof(stack), CLONE_VM | SIGCHLD, &first);
	MUST(pid > 0);
	put(first + WRITES, WRITES);
	MUST(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 7);
	MUST(pthread_create(&thread, NULL, other_thread, NULL) == 0);
	MUST(pthread_join(thread, NULL) == 0);
	return 9;
}
