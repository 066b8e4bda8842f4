/* Regions that are open where a process or thread changes: region_ends FILE thread|fork|exec|signal|depth */
#include <fathom.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "must.h"

static int file;

static void put(int at)
{
	MUST(pwrite(file, "12345678", 8, 8 * at) == 8);
}

static void *leaves_one_open(void *nothing)
{
	fathom_begin("of a thread");
	put(1);
	return nothing;
}

/* The next thread's regions are its own. */
static void by_thread(void)
{
	pthread_t thread;

	fathom_begin("outer");
	for (int i = 0; i < 2; i++) {
		MUST(pthread_create(&thread, NULL, leaves_one_open, NULL) == 0);
		MUST(pthread_join(thread, NULL) == 0);
	}
	put(2);
	fathom_end("outer");
}

/* A child is in no region of its parent's. */
static void by_fork(void)
{
	pid_t child;

	fathom_begin("parent");
	child = fork();
	if (child == 0) {
		put(1);
		fathom_begin("child");
		put(2);
		fathom_end("child");
		exit(0);
	}
	MUST(waitpid(child, NULL, 0) == child);
	put(3);
	fathom_end("parent");
}

static void by_exec(char **argv)
{
	fathom_begin("before exec");
	put(1);
	execl("/proc/self/exe", argv[0], argv[1], "again", NULL);
}

static void handler(int number)
{
	(void)number;
	fathom_begin("handler");
	put(2);
	fathom_end("handler");
}

static void by_signal(void)
{
	signal(SIGUSR1, handler);
	fathom_begin("interrupted");
	put(1);
	raise(SIGUSR1);
	put(3);
	fathom_end("interrupted");
}

/* More regions inside one another than can be recorded. */
static void by_depth(void)
{
	for (int i = 0; i < 100; i++)
		fathom_begin_int("deep", "number", i);
	for (int i = 0; i < 100; i++)
		fathom_end("deep");
	fathom_begin("after");
	put(1);
	fathom_end("after");
}

int main(int argc, char **argv)
{
	const char *how = argc > 2 ? argv[2] : "";

	file = open(argv[1], O_CREAT | O_RDWR, 0644);
	MUST(file >= 0);
	if (!strcmp(how, "thread"))
		by_thread();
	else if (!strcmp(how, "fork"))
		by_fork();
	else if (!strcmp(how, "exec"))
		by_exec(argv);
	else if (!strcmp(how, "signal"))
		by_signal();
	else if (!strcmp(how, "depth"))
		by_depth();
	else
		put(9);
	puts("done");
	return 0;
}
