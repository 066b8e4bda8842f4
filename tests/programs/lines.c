/* lines FILE ROUNDS: 8 threads write, by one function, at the offset that is the line which called it: from functions that
 * call each other in all ways, whose frames have any length, in handlers of signals, and called back by the C library. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { THREADS = 8, DEEPEST = 6 };

static int file;
static __thread uint64_t state;
static __thread int depth;

static unsigned draw(unsigned below)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(state >> 33) % below;
}

static __attribute__((noinline)) void put(off_t line)
{
	if (pwrite(file, "x", 1, line) != 1)
		_exit(1);
}

/* No jump in place of a call: a function that has gone on has left no frame. */
#define PUT                                                                                        \
	do {                                                                                       \
		put(__LINE__);                                                                     \
		__asm__ volatile("");                                                              \
	} while (0)

static void go_on(void);

static __attribute__((noinline)) void straight(void)
{
	PUT;
	go_on();
	PUT;
}

static __attribute__((noinline)) void of_any_length(void)
{
	const size_t size = draw(9) * 1000 + 1;
	char array[size];

	memset(array, 1, size);
	__asm__ volatile("" : : "r"(array) : "memory");
	PUT;
	go_on();
}

static int order(const void *a, const void *b)
{
	PUT;
	return *(const int *)a - *(const int *)b;
}

static __attribute__((noinline)) void called_back(void)
{
	int numbers[] = {2, 1};

	qsort(numbers, 2, sizeof(*numbers), order);
	go_on();
	PUT;
}

static void handle(int number)
{
	(void)number;
	PUT;
}

static __attribute__((noinline)) void in_a_handler(void)
{
	pthread_kill(pthread_self(), SIGUSR1);
	go_on();
	__asm__ volatile("");
}

static void go_on(void)
{
	static void (*const ways[])(void) = {straight, of_any_length, called_back, in_a_handler};

	if (depth == DEEPEST)
		return;
	depth++;
	ways[draw(4)]();
	depth--;
}

static void *work(void *argument)
{
	state = (uint64_t)(uintptr_t)argument;
	for (unsigned i = 0, rounds = (unsigned)((uintptr_t)argument >> 8); i < rounds; i++)
		go_on();
	return NULL;
}

int main(int count, char **arguments)
{
	pthread_t thread[THREADS];
	const uintptr_t rounds = count == 3 ? strtoul(arguments[2], NULL, 10) : 0;

	signal(SIGUSR1, handle);
	file = open(arguments[1], O_WRONLY | O_CREAT, 0600);
	if (file < 0 || !rounds)
		return 2;
	for (uintptr_t i = 0; i < THREADS; i++)
		pthread_create(&thread[i], NULL, work, (void *)(rounds << 8 | i));
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	return 0;
}
