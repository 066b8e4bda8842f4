/* What a file of the user's becomes before the program starts: another program of ours prints it, once per node. */
#include "command.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

char *output_of(const struct run *run, const char *option, void (*program)(const struct run *run))
{
	int ends[2], status;
	size_t size = 0;
	char *text;
	pid_t child;

	if (pipe2(ends, O_CLOEXEC) || (child = fork()) < 0)
		fail(EXIT_FATHOM, "%s: cannot start a process: %s", option, strerror(errno));
	if (child == 0) {
		unsetenv("LD_PRELOAD"); /* inside a traced script: no I/O of the program */
		dup2(ends[1], STDOUT_FILENO);
		program(run);
	}
	close(ends[1]);
	text = read_file(format_text("/dev/fd/%d", ends[0]), &size);
	close(ends[0]);
	if (!child_wait(child, &status) || !WIFEXITED(status) || WEXITSTATUS(status))
		exit(EXIT_FATHOM); /* it has said why */
	return text;
}

int ring_lock(const struct run *run)
{
	int lock =
		open(format_text("%s/select.lock", run->ring), O_CREAT | O_RDWR | O_CLOEXEC, 0600);

	if (lock < 0 || flock(lock, LOCK_EX))
		fail(EXIT_FATHOM, "cannot lock %s: %s", run->ring, strerror(errno));
	return lock;
}
