/* Every way to wait for another thread, once each. Who is waited for looks into /proc until the waiter sleeps, then
 * lets it wait 50 ms more. With a second argument: prints which library answers for pthread_mutex_lock. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#include "fathom.h"
#include "must.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_barrier_t barrier;
static pthread_spinlock_t spin;
static sem_t semaphore;
static bool signalled;
static int fd;
static _Atomic pid_t waiter; /* who is going to wait */

static struct timespec from_now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	t.tv_nsec += 50000000;
	t.tv_sec += t.tv_nsec / 1000000000;
	t.tv_nsec %= 1000000000;
	return t;
}

static char state_of(pid_t thread)
{
	char path[64], text[256] = "", *name_end;
	int stat;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", (int)thread);
	stat = open(path, O_RDONLY);
	MUST(stat >= 0 && read(stat, text, sizeof(text) - 1) > 0 && close(stat) == 0);
	name_end = strrchr(text, ')');
	MUST(name_end);
	return name_end[2];
}

static void let_it_wait(void)
{
	while (!waiter || state_of(waiter) != 'S')
		usleep(1000);
	usleep(50000);
}

static void *locks(void *argument)
{
	waiter = gettid();
	fathom_begin("locked");
	MUST(pthread_mutex_lock(&mutex) == 0);
	MUST(pwrite(fd, "m", 1, 100) == 1);
	MUST(pthread_mutex_unlock(&mutex) == 0);
	fathom_end("locked");
	return argument;
}

static void *locks_to_write(void *argument)
{
	waiter = gettid();
	MUST(pthread_rwlock_wrlock(&rwlock) == 0);
	MUST(pwrite(fd, "w", 1, 200) == 1);
	MUST(pthread_rwlock_unlock(&rwlock) == 0);
	return argument;
}

static void *returns(void *argument)
{
	let_it_wait();
	return argument;
}

static int returns_c11(void *argument)
{
	let_it_wait();
	return argument != NULL;
}

static void *signals(void *argument)
{
	let_it_wait();
	MUST(pthread_mutex_lock(&mutex) == 0);
	signalled = true;
	MUST(pthread_cond_signal(&condition) == 0);
	MUST(pthread_mutex_unlock(&mutex) == 0);
	return argument;
}

static void *comes_last(void *argument)
{
	int result;

	let_it_wait();
	result = pthread_barrier_wait(&barrier);
	MUST(result == 0 || result == PTHREAD_BARRIER_SERIAL_THREAD);
	return argument;
}

static void *posts(void *argument)
{
	let_it_wait();
	MUST(sem_post(&semaphore) == 0);
	return argument;
}

static pthread_t begun(void *(*routine)(void *))
{
	pthread_t thread;

	MUST(pthread_create(&thread, NULL, routine, NULL) == 0);
	return thread;
}

/* Others wait for what this thread holds. */
static void hold(void)
{
	pthread_t thread;

	waiter = 0;
	MUST(pthread_mutex_lock(&mutex) == 0);
	thread = begun(locks);
	let_it_wait();
	MUST(pthread_mutex_unlock(&mutex) == 0);
	MUST(pthread_join(thread, NULL) == 0);

	waiter = 0;
	MUST(pthread_rwlock_rdlock(&rwlock) == 0);
	thread = begun(locks_to_write);
	let_it_wait();
	MUST(pthread_rwlock_unlock(&rwlock) == 0);
	MUST(pthread_join(thread, NULL) == 0);
}

/* This thread waits for others. */
static void wait_for_others(void)
{
	thrd_t other;
	pthread_t thread;
	int result;

	waiter = gettid();
	thread = begun(returns);
	MUST(pthread_tryjoin_np(thread, NULL) == EBUSY);
	MUST(pthread_join(thread, NULL) == 0);
	MUST(thrd_create(&other, returns_c11, NULL) == thrd_success);
	MUST(thrd_join(other, &result) == thrd_success && result == 0);

	thread = begun(signals);
	MUST(pthread_mutex_lock(&mutex) == 0);
	while (!signalled)
		MUST(pthread_cond_wait(&condition, &mutex) == 0);
	MUST(pthread_mutex_unlock(&mutex) == 0);
	MUST(pthread_join(thread, NULL) == 0);

	thread = begun(comes_last);
	result = pthread_barrier_wait(&barrier);
	MUST(result == 0 || result == PTHREAD_BARRIER_SERIAL_THREAD);
	MUST(pthread_join(thread, NULL) == 0);

	thread = begun(posts);
	MUST(sem_wait(&semaphore) == 0);
	MUST(pthread_join(thread, NULL) == 0);
}

/* Nobody comes. */
static void wait_in_vain(void)
{
	struct timespec limit = from_now(CLOCK_REALTIME);

	MUST(sem_timedwait(&semaphore, &limit) == -1 && errno == ETIMEDOUT);
	limit = from_now(CLOCK_MONOTONIC);
	MUST(sem_clockwait(&semaphore, CLOCK_MONOTONIC, &limit) == -1 && errno == ETIMEDOUT);
	MUST(pthread_mutex_lock(&mutex) == 0);
	limit = from_now(CLOCK_REALTIME);
	MUST(pthread_mutex_timedlock(&mutex, &limit) == ETIMEDOUT);
	limit = from_now(CLOCK_MONOTONIC);
	MUST(pthread_mutex_clocklock(&mutex, CLOCK_MONOTONIC, &limit) == ETIMEDOUT);
	limit = from_now(CLOCK_REALTIME);
	MUST(pthread_cond_timedwait(&condition, &mutex, &limit) == ETIMEDOUT);
	MUST(pthread_mutex_unlock(&mutex) == 0);
	MUST(pthread_spin_lock(&spin) == 0 && pthread_spin_unlock(&spin) == 0);
}

static void say_who_answers(void)
{
	Dl_info info;

	MUST(dladdr((void *)pthread_mutex_lock, &info) && info.dli_fname);
	printf("pthread_mutex_lock: %s\n", strrchr(info.dli_fname, '/') + 1);
}

int main(int argc, char **argv)
{
	MUST(argc >= 2 && pthread_barrier_init(&barrier, NULL, 2) == 0);
	MUST(pthread_spin_init(&spin, 0) == 0 && sem_init(&semaphore, 0, 0) == 0);
	fd = open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0644);
	MUST(fd >= 0);
	hold();
	wait_for_others();
	wait_in_vain();
	if (argc > 2)
		say_who_answers();
	puts("all waited");
	return 3;
}
