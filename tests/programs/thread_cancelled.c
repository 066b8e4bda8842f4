/* Threads cancelled while they wait: in pthread_cond_wait, sem_wait and pthread_join. Clean-up runs, and has the mutex
 * back; what was waited for is as before. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <unistd.h>

#include "must.h"

static pthread_mutex_t mutex = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static sem_t semaphore;
static pthread_t sleeper;
static atomic_int here;
static int fd;

static void cleans(void *what)
{
	printf("clean-up of %s\n", (const char *)what);
}

static void unlocks(void *what)
{
	cleans(what);
	MUST(pthread_mutex_unlock(&mutex) == 0); /* EPERM, were it not this thread's */
}

static void *waits_for_condition(void *argument)
{
	MUST(pthread_mutex_lock(&mutex) == 0);
	pthread_cleanup_push(unlocks, "condition");
	here = 1;
	for (;;)
		pthread_cond_wait(&condition, &mutex);
	pthread_cleanup_pop(0);
	return argument;
}

static void *waits_for_semaphore(void *argument)
{
	pthread_cleanup_push(cleans, "semaphore");
	here = 1;
	sem_wait(&semaphore);
	pthread_cleanup_pop(0);
	return argument;
}

static void *waits_for_thread(void *argument)
{
	pthread_cleanup_push(cleans, "join");
	here = 1;
	pthread_join(sleeper, NULL);
	pthread_cleanup_pop(0);
	return argument;
}

static void cancel(void *(*routine)(void *))
{
	pthread_t thread;
	void *end;

	here = 0;
	MUST(pthread_create(&thread, NULL, routine, NULL) == 0);
	while (!here)
		usleep(1000);
	usleep(20000);
	MUST(pthread_cancel(thread) == 0 && pthread_join(thread, &end) == 0);
	MUST(end == PTHREAD_CANCELED);
}

static void *outlives(void *argument)
{
	MUST(sem_wait(&semaphore) == 0);
	return argument;
}

int main(int argc, char **argv)
{
	void *end;

	MUST(argc == 2 && sem_init(&semaphore, 0, 0) == 0);
	fd = open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0644);
	MUST(fd >= 0);
	cancel(waits_for_condition);
	MUST(pthread_mutex_trylock(&mutex) == 0 && pthread_mutex_unlock(&mutex) == 0);
	cancel(waits_for_semaphore);
	MUST(pthread_create(&sleeper, NULL, outlives, &fd) == 0);
	cancel(waits_for_thread);
	MUST(sem_post(&semaphore) == 0);
	MUST(pthread_join(sleeper, &end) == 0 && end == &fd);
	MUST(pwrite(fd, "x", 1, 100) == 1);
	return 3;
}
