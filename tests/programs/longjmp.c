/* Leaves calls without returning from them: a signal handler jumps out of a blocking read, and a
 * filter jumps out of scandir. What follows must be on the level it was on before. */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#include "must.h"

static sigjmp_buf out;

static void jump(int number)
{
	siglongjmp(out, number);
}

static int jumping_filter(const struct dirent *entry)
{
	(void)entry;
	siglongjmp(out, 1);
}

/* From a frame deeper than that of the call which was left. */
__attribute__((noinline)) static void write_from_below(int fd, int i)
{
	volatile char deep[4096];

	deep[0] = 'x';
	MUST(pwrite(fd, (const char *)deep, 1, i) == 1);
}

int main(int argc, char **argv)
{
	const struct itimerval soon = {{0, 0}, {0, 20000}};
	struct dirent **list;
	int ends[2];
	char byte;

	MUST(argc == 2 && pipe(ends) == 0);
	int fd = open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0644);
	signal(SIGALRM, jump);
	for (int i = 0; i < 5; i++) {
		if (!sigsetjmp(out, 1)) {
			MUST(setitimer(ITIMER_REAL, &soon, NULL) == 0);
			MUST(read(ends[0], &byte, 1) == 1);
		}
		if (i % 2)
			write_from_below(fd, i);
		else
			MUST(pwrite(fd, "x", 1, i) == 1);
	}
	if (!sigsetjmp(out, 1))
		scandir("/", &list, jumping_filter, NULL);
	MUST(pwrite(fd, "x", 1, 5) == 1);
	return 0;
}
