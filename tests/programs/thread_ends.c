/* Threads that end in every way: return, pthread_exit, cancelled inside a read, detached and still
 * there when main has left by pthread_exit. Each writes first, so that it has something to lose. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include "must.h"

static int fd;
static int ends[2];

static void *returns(void *argument)
{
	MUST(pwrite(fd, "r", 1, 100) == 1);
	return argument;
}

static void *exits(void *argument)
{
	MUST(pwrite(fd, "e", 1, 200) == 1);
	pthread_exit(argument);
}

static void *waits(void *argument)
{
	char byte;

	MUST(pwrite(fd, "c", 1, 300) == 1);
	MUST(read(ends[0], &byte, 1) == 1); /* cancelled here */
	return argument;
}

static void *outlives(void *argument)
{
	usleep(100000);
	MUST(pwrite(fd, "d", 1, 400) == 1);
	return argument;
}

int main(int argc, char **argv)
{
	pthread_t thread[3], last;
	void *end;

	MUST(argc == 2 && pipe(ends) == 0);
	fd = open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0644);
	MUST(pthread_create(&thread[0], NULL, returns, NULL) == 0);
	MUST(pthread_create(&thread[1], NULL, exits, NULL) == 0);
	MUST(pthread_create(&thread[2], NULL, waits, NULL) == 0);
	usleep(50000);
	MUST(pthread_cancel(thread[2]) == 0);
	for (int i = 0; i < 3; i++)
		MUST(pthread_join(thread[i], &end) == 0);
	MUST(end == PTHREAD_CANCELED);
	MUST(pthread_create(&last, NULL, outlives, NULL) == 0);
	MUST(pthread_detach(last) == 0);
	pthread_exit(NULL);
}
