/* The least that a threaded program with files does: what Fathom adds to it is then to be seen call by call.
 * usage: tiny DIRECTORY */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "must.h"

static void *work(void *name)
{
	const char text[] = "six by";
	char back[8] = "";
	int file = open(name, O_CREAT | O_RDWR | O_TRUNC, 0644);

	MUST(file >= 0);
	for (int i = 0; i < 4; i++)
		MUST(pwrite(file, text, 6, 6 * i) == 6);
	MUST(pread(file, back, 6, 6) == 6);
	close(file);
	return NULL;
}

static void print_state(void)
{
	sigset_t blocked;

	printf("errno %d, blocked", errno);
	sigprocmask(SIG_BLOCK, NULL, &blocked);
	for (int number = 1; number < 65; number++)
		if (sigismember(&blocked, number) == 1)
			printf(" %d", number);
	puts("");
}

int main(int count, char **argument)
{
	pthread_t thread;
	sigset_t one;

	MUST(count == 2 && chdir(argument[1]) == 0);
	sigemptyset(&one);
	sigaddset(&one, SIGUSR1);
	sigprocmask(SIG_BLOCK, &one, NULL);
	errno = 0;
	work("first");
	MUST(pthread_create(&thread, NULL, work, "second") == 0);
	pthread_join(thread, NULL);
	print_state();
	return 3;
}
