/* A thread of it waits in epoll_wait on one processor, and never hears EINTR. Exits with 7 at the end of its input.
 *	starved PROCESSOR */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

static int queue, over;

static void *wait_for_the_end(void *processor)
{
	struct epoll_event event;
	cpu_set_t only;

	CPU_ZERO(&only);
	CPU_SET(atoi(processor), &only);
	if (pthread_setaffinity_np(pthread_self(), sizeof(only), &only) != 0)
		exit(98);
	if (epoll_wait(queue, &event, 1, 60000) != 1) {
		perror("epoll_wait");
		exit(99);
	}
	return NULL;
}

int main(int count, char **words)
{
	struct epoll_event event = {.events = EPOLLIN};
	pthread_t waits;
	char byte;

	queue = epoll_create1(0);
	over = eventfd(0, 0);
	if (count != 2 || epoll_ctl(queue, EPOLL_CTL_ADD, over, &event) != 0 ||
	    pthread_create(&waits, NULL, wait_for_the_end, words[1]) != 0)
		return 98;
	while (read(0, &byte, 1) == 1)
		;
	if (eventfd_write(over, 1) != 0 || pthread_join(waits, NULL) != 0)
		return 98;
	return 7;
}
