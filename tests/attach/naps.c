// A program of one thread that sleeps, again and again, until there is something on its standard input.
// Exits with 7,
// or with 99 when a sleep ended too soon or errno is another.
#include <errno.h>
#include <poll.h>
#include <time.h>

int main(void)
{
	struct pollfd input = {.fd = 0, .events = POLLIN};
	const struct timespec nap = {.tv_nsec = 20000000};

	errno = ERANGE;
	while (poll(&input, 1, 0) == 0)
		if (nanosleep(&nap, NULL) != 0 || errno != ERANGE)
			return 99;
	return 7;
}
