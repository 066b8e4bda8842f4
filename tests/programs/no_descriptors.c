/* Uses up its descriptors, to the hard limit: then threads begin, write and end. With "freed" it closes
 * them before its own end. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "must.h"

enum { THREADS = 4, WRITES = 5000 };
static int fd;

static void *write_all(void *number)
{
	long first = (long)number * WRITES;

	for (long i = first; i < first + WRITES; i++)
		MUST(pwrite(fd, "x", 1, i) == 1);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread[THREADS];
	int last = 0, next;

	fd = open(argv[1], O_CREAT | O_RDWR | O_TRUNC, 0644);
	MUST(fd >= 0);
	while ((next = dup(fd)) >= 0)
		last = next;
	MUST(errno == EMFILE);
	for (long i = 0; i < THREADS; i++)
		MUST(pthread_create(&thread[i], NULL, write_all, (void *)i) == 0);
	for (int i = 0; i < THREADS; i++)
		MUST(pthread_join(thread[i], NULL) == 0);
	while (argc > 2 && strcmp(argv[2], "freed") == 0 && last > fd)
		close(last--);
	return 7;
}
