/* start: runs a program N times, one after the other, as a job script does.
 *
 *	start N PROGRAM [ARGUMENT…]
 *
 * It measures nothing: bench/run.py counts, from outside, what the processes do. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int run(char **command)
{
	int status;
	pid_t child = fork();

	if (child == 0) {
		execv(command[0], command);
		_exit(127);
	}
	if (child < 0 || waitpid(child, &status, 0) != child) {
		fprintf(stderr, "start: %s: %s\n", command[0], strerror(errno));
		return 1;
	}
	if (!WIFEXITED(status) || WEXITSTATUS(status)) {
		fprintf(stderr, "start: %s failed with wait status %d\n", command[0], status);
		return 1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	long n = argc >= 3 ? atol(argv[1]) : 0;

	if (n < 1) {
		fprintf(stderr, "usage: start N PROGRAM [ARGUMENT...]\n");
		return 2;
	}
	while (n--)
		if (run(argv + 2))
			return 1;
	return 0;
}
