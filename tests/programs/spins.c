/* spins FILE SECONDS WAY: writes into FILE, keeps a processor busy for so long, and writes again.
 *	alone     that is all
 *	threads   two threads do it at the same time, the first one waits
 *	fork      then a child does it for a fifth of that
 *	exec      then a new image does it for a fifth of that */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "must.h"

static int fd;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void spin(double seconds)
{
	const double until = now() + seconds;

	MUST(write(fd, "x", 1) == 1);
	while (now() < until)
		;
	MUST(write(fd, "x", 1) == 1);
}

static void *work(void *seconds)
{
	spin(*(double *)seconds);
	return NULL;
}

static void threads(double seconds)
{
	pthread_t thread[2];

	for (int i = 0; i < 2; i++)
		MUST(pthread_create(&thread[i], NULL, work, &seconds) == 0);
	for (int i = 0; i < 2; i++)
		MUST(pthread_join(thread[i], NULL) == 0);
}

static void in_child(double seconds)
{
	const pid_t child = fork();
	int status;

	if (!child) {
		spin(seconds);
		exit(0);
	}
	MUST(waitpid(child, &status, 0) == child && status == 0);
}

int main(int argc, char **argv)
{
	char fifth[32];
	double seconds;

	MUST(argc == 4);
	fd = open(argv[1], O_WRONLY | O_CREAT | O_APPEND, 0644);
	seconds = atof(argv[2]);
	MUST(fd >= 0);
	if (!strcmp(argv[3], "threads")) {
		threads(seconds);
		return 0;
	}
	spin(seconds);
	if (!strcmp(argv[3], "fork"))
		in_child(seconds / 5);
	if (!strcmp(argv[3], "exec")) {
		snprintf(fifth, sizeof(fifth), "%f", seconds / 5);
		execl(argv[0], argv[0], argv[1], fifth, "alone", NULL);
		MUST(!"exec");
	}
	return 0;
}
