/* busy DIR THREADS SECONDS [PAUSE]: each thread opens, writes, reads and closes files of its own and one of all,
 * without a pause, or with one of PAUSE microseconds after each round.
 * busy DIR fifo SECONDS: a thread is stuck in a write to DIR/fifo until another reads it SECONDS later. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "must.h"

static const char *directory;
static double seconds;
static useconds_t wait_after;
static int shared;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void round_of(long thread, long number)
{
	char path[4096], data[512] = {0};
	int fd;

	snprintf(path, sizeof(path), "%s/%ld.%ld.own", directory, thread, number % 3);
	fd = open(path, O_RDWR | O_CREAT, 0644);
	MUST(fd >= 0);
	for (long i = 0; i < 20; i++) {
		MUST(pwrite(fd, data, sizeof(data), i * 512) == sizeof(data));
		MUST(pwrite(shared, data, 16, (thread * 20 + i) * 16) == 16);
		MUST(pread(fd, data, (size_t)(number % 7) * 9, i * 8) >= 0);
	}
	MUST(pread(-1, data, 1, 0) == -1);
	MUST(close(fd) == 0);
}

static void *work(void *argument)
{
	const double until = now() + seconds;

	for (long number = 0; now() < until; number++) {
		round_of((long)(intptr_t)argument, number);
		if (wait_after)
			usleep(wait_after);
	}
	return NULL;
}

static void *stuck(void *argument)
{
	static char data[1 << 20];
	const char *path = argument;
	int fd = open(path, O_WRONLY);

	MUST(fd >= 0);
	MUST(write(fd, data, sizeof(data)) == sizeof(data)); /* more than a pipe holds */
	MUST(close(fd) == 0);
	return NULL;
}

static void fifo(void)
{
	char path[4096];
	static char data[1 << 20];
	pthread_t thread;
	ssize_t got;
	int fd;

	snprintf(path, sizeof(path), "%s/fifo", directory);
	MUST(mkfifo(path, 0600) == 0);
	MUST(pthread_create(&thread, NULL, stuck, path) == 0);
	fd = open(path, O_RDONLY);
	MUST(fd >= 0);
	usleep((useconds_t)(seconds * 1e6));
	while ((got = read(fd, data, sizeof(data))) > 0)
		;
	MUST(got == 0);
	MUST(pthread_join(thread, NULL) == 0);
}

int main(int argc, char **argv)
{
	pthread_t thread[64];
	char path[4096];
	long threads;

	MUST(argc >= 4);
	directory = argv[1];
	seconds = atof(argv[3]);
	if (strcmp(argv[2], "fifo") == 0) {
		fifo();
		return 0;
	}
	threads = atol(argv[2]);
	wait_after = argc > 4 ? (useconds_t)atol(argv[4]) : 0;
	snprintf(path, sizeof(path), "%s/the.all", directory);
	shared = open(path, O_RDWR | O_CREAT, 0644);
	MUST(shared >= 0 && threads <= 64);
	for (long t = 0; t < threads; t++)
		MUST(pthread_create(&thread[t], NULL, work, (void *)(intptr_t)t) == 0);
	for (long t = 0; t < threads; t++)
		MUST(pthread_join(thread[t], NULL) == 0);
	MUST(close(shared) == 0);
	return 0;
}
