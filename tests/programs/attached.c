/* Runs until its standard input ends: threads that write one block behind the other, one that is in read() all
 * the time, threads that come and go, a signal handler that reads. Says how many calls it has made for each byte
 * that it gets, and at the end; exits with 7.
 * usage: attached FILE */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "must.h"

enum { WRITERS = 3, BYTES = 64 };

static int file;
static atomic_bool over;
static atomic_long writes, reads;

static void nap(long ns)
{
	const struct timespec time = {.tv_nsec = ns};

	nanosleep(&time, NULL);
}

static void on_signal(int number)
{
	char byte;

	(void)number;
	if (pread(file, &byte, 1, 0) == 1)
		atomic_fetch_add(&reads, 1);
}

static void *keep_writing(void *number)
{
	const char block[BYTES] = "";
	const off_t base = (off_t)(size_t)number << 20;

	for (long i = 0; !atomic_load(&over); i++) {
		MUST(pwrite(file, block, BYTES, base + i % 1024 * BYTES) == BYTES);
		atomic_fetch_add(&writes, 1);
		if (i % 32 == 0)
			nap(100000);
	}
	return NULL;
}

static void *write_once(void *unused)
{
	MUST(pwrite(file, "", 1, 0) == 1);
	atomic_fetch_add(&writes, 1);
	return unused;
}

static void *come_and_go(void *unused)
{
	while (!atomic_load(&over)) {
		pthread_t one;

		MUST(pthread_create(&one, NULL, write_once, NULL) == 0);
		MUST(pthread_join(one, NULL) == 0);
		raise(SIGUSR1);
		nap(2000000);
	}
	return unused;
}

static void say(void)
{
	printf("%ld writes, %ld reads\n", writes, reads);
	fflush(stdout);
}

int main(int count, char **arguments)
{
	pthread_t thread[WRITERS + 1];
	char byte;

	MUST(count == 2);
	signal(SIGUSR1, on_signal);
	file = open(arguments[1], O_RDWR | O_CREAT | O_TRUNC, 0600);
	MUST(file >= 0 && pwrite(file, "", 1, 0) == 1);
	for (size_t i = 0; i < WRITERS; i++)
		MUST(pthread_create(&thread[i], NULL, keep_writing, (void *)i) == 0);
	MUST(pthread_create(&thread[WRITERS], NULL, come_and_go, NULL) == 0);
	while (read(0, &byte, 1) == 1)
		say();
	atomic_store(&over, true);
	for (size_t i = 0; i <= WRITERS; i++)
		MUST(pthread_join(thread[i], NULL) == 0);
	say();
	return 7;
}
