/* A timer interrupts calls at any point; its handler makes calls of its own, and one that fails.
 * The main flow's errno and data must not notice. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <sys/time.h>
#include <unistd.h>

#include "must.h"

enum { CALLS = 20000, SIGNALS = 300 };
static int handled_fd, main_fd;
static volatile sig_atomic_t handled;

static void handle(int number)
{
	int saved = errno;
	char byte;

	(void)number;
	if (handled < SIGNALS && pwrite(handled_fd, "s", 1, handled) == 1)
		handled++;
	if (read(-1, &byte, 1) != -1)
		_exit(98);
	errno = saved;
}

int main(int argc, char **argv)
{
	const struct itimerval often = {{0, 300}, {0, 300}}, never = {0};
	struct sigaction action = {.sa_handler = handle, .sa_flags = SA_RESTART};
	uint64_t value;

	MUST(argc == 3);
	main_fd = open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0644);
	handled_fd = open(argv[2], O_RDWR | O_CREAT | O_TRUNC, 0644);
	MUST(main_fd >= 0 && handled_fd >= 0);
	MUST(sigaction(SIGALRM, &action, NULL) == 0);
	MUST(setitimer(ITIMER_REAL, &often, NULL) == 0);
	for (uint64_t i = 0; i < CALLS || handled < 50; i++) {
		MUST(pwrite(main_fd, &i, 8, (off_t)(i % CALLS) * 8) == 8);
		MUST(pread(main_fd, &value, 8, (off_t)(i % CALLS) * 8) == 8);
		MUST(value == i);
		errno = 0;
		MUST(lseek(-1, 0, SEEK_SET) == -1 && errno == EBADF);
	}
	MUST(setitimer(ITIMER_REAL, &never, NULL) == 0);
	printf("handled\n");
	return handled < 50;
}
