/* 64 threads on one file: thread t writes and reads its own pieces, offset = (t * CALLS + i) * 16. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <unistd.h>

#include "must.h"

enum { THREADS = 64, CALLS = 200 };
static int fd;

static void *work(void *argument)
{
	intptr_t t = (intptr_t)argument;
	char data[16] = {0};

	for (int i = 0; i < CALLS; i++) {
		MUST(pwrite(fd, data, 16, (t * CALLS + i) * 16) == 16);
		MUST(pread(fd, data, 16, (t * CALLS + i) * 16) == 16);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread[THREADS];

	MUST(argc == 2);
	fd = open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0644);
	MUST(fd >= 0);
	for (intptr_t t = 0; t < THREADS; t++)
		MUST(pthread_create(&thread[t], NULL, work, (void *)t) == 0);
	for (int t = 0; t < THREADS; t++)
		MUST(pthread_join(thread[t], NULL) == 0);
	MUST(close(fd) == 0);
	return 0;
}
