/* Four threads read and write until FILE.stop is there; prints how many calls of each op they made.
 * flips FILE */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "must.h"

enum { THREADS = 4, SIZE = 16 };

static const char *file;
static atomic_int done;
static _Atomic long writes, reads, bytes_written;

static void *work(void *number)
{
	char data[SIZE] = "abcdefghijklmno";
	long at = *(long *)number * (1l << 20), rounds = 0;
	int fd = open(file, O_RDWR);

	MUST(fd >= 0);
	while (!done) {
		int size = 1 + (int)(rounds % SIZE);

		MUST(pwrite(fd, data, (size_t)size, at) == size);
		MUST(pread(fd, data, 1, at) == 1);
		bytes_written += size;
		rounds++;
	}
	writes += rounds;
	reads += rounds;
	MUST(close(fd) == 0);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread[THREADS];
	long number[THREADS];
	char stop[4096];
	int fd;

	MUST(argc == 2);
	file = argv[1];
	snprintf(stop, sizeof(stop), "%s.stop", file);
	fd = open(file, O_RDWR | O_CREAT | O_TRUNC, 0644);
	MUST(fd >= 0);
	for (long i = 0; i < THREADS; i++) {
		number[i] = i;
		MUST(pthread_create(&thread[i], NULL, work, &number[i]) == 0);
	}
	puts("started");
	fflush(stdout);
	while (access(stop, F_OK))
		usleep(1000);
	done = 1;
	for (int i = 0; i < THREADS; i++)
		MUST(pthread_join(thread[i], NULL) == 0);
	printf("%ld %ld %ld\n", writes, reads, bytes_written);
	return 0;
}
