/* A program with an allocator of its own, in which a thread waits for a byte on standard input with the lock held.
 * `main`: the only thread, inside malloc; `other`: another thread, inside malloc; `hidden`: another thread, in a function
 * of another name; `loop`: nobody waits, the only thread is in malloc nearly all the time. Says done, exits with 7.
 * usage: attached_stuck main|other|hidden|loop */
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "must.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_t waiting;
static volatile bool waits;
static char pool[64 << 20];
static size_t used;
static void *volatile block;

static void wait_inside(void)
{
	char byte;

	if (!waits || !pthread_equal(waiting, pthread_self()))
		return;
	waits = false;
	(void)!write(1, "inside\n", 7);
	(void)!read(0, &byte, 1);
}

/* Gives back the last one only. In a library of its own it would not be inlined either. */
__attribute__((noinline)) void *malloc(size_t bytes)
{
	size_t *at;

	pthread_mutex_lock(&lock);
	wait_inside();
	bytes = (bytes + 31) & ~(size_t)15;
	at = (size_t *)(pool + used);
	used += bytes;
	MUST(used <= sizeof(pool));
	pthread_mutex_unlock(&lock);
	at[1] = bytes - 16;
	return at + 2;
}

__attribute__((noinline)) void free(void *block)
{
	size_t *at = (size_t *)block - 2;

	pthread_mutex_lock(&lock);
	if (block && (char *)block + at[1] == pool + used)
		used = (size_t)((char *)at - pool);
	pthread_mutex_unlock(&lock);
}

void *calloc(size_t count, size_t bytes)
{
	void *block = malloc(count * bytes);

	explicit_bzero(block,
		       count * bytes); /* malloc and memset would be made one call: of calloc */
	return block;
}

void *realloc(void *block, size_t bytes)
{
	const size_t before = block ? ((size_t *)block)[-1] : 0;

	return memcpy(malloc(bytes), block ? block : "", before < bytes ? before : bytes);
}

static void *allocate(void *unused)
{
	waiting = pthread_self();
	waits = true;
	MUST(malloc(1));
	return unused;
}

static void *hold(void *unused)
{
	waiting = pthread_self();
	waits = true;
	pthread_mutex_lock(&lock);
	wait_inside();
	pthread_mutex_unlock(&lock);
	return unused;
}

static void loop(void)
{
	struct pollfd input = {.fd = 0, .events = POLLIN};

	(void)!write(1, "inside\n", 7);
	while (poll(&input, 1, 0) == 0)
		for (int i = 0; i < 100000; i++) {
			block = malloc(100);
			free(block);
		}
}

int main(int count, char **arguments)
{
	pthread_t other;

	MUST(count == 2);
	if (strcmp(arguments[1], "loop") == 0) {
		loop();
	} else if (strcmp(arguments[1], "main") == 0) {
		allocate(NULL);
	} else {
		MUST(pthread_create(&other, NULL, arguments[1][0] == 'o' ? allocate : hold, NULL) ==
		     0);
		MUST(pthread_join(other, NULL) == 0);
	}
	MUST(write(1, "done\n", 5) == 5);
	return 7;
}
