/* --select: the engine makes of the user's file what every process reads, once per node. */
#include "command.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

bool selection_is_word(const char *select)
{
	return strcmp(select, "critical") == 0;
}

const char *selection_path(const struct run *run)
{
	return run->options.select ? format_text("%s/selection", run->directory) : NULL;
}

__attribute__((noreturn)) static void engine_exec(const struct run *run, int out)
{
	const char *engine = engine_find();
	const char *program = run->options.command && *run->options.command
				      ? program_find(program_word(run->options.command))
				      : NULL;
	const char *words[] = {engine,  "select", run->options.select, program ? "--program" : NULL,
			       program, NULL};

	if (!engine)
		fail(EXIT_FATHOM,
		     "--select: no fathom-engine beside %s; build it or set FATHOM_ENGINE",
		     command_directory());
	unsetenv("LD_PRELOAD"); /* inside a traced script: no I/O of the program */
	dup2(out, STDOUT_FILENO);
	execv(engine, (char **)words);
	fail(EXIT_FATHOM, "cannot start %s: %s", engine, strerror(errno));
}

void selection_compile(struct run *run)
{
	int ends[2], status;
	size_t size = 0;
	pid_t child;

	if (!run->options.select || run->selection)
		return;
	if (pipe2(ends, O_CLOEXEC) || (child = fork()) < 0)
		fail(EXIT_FATHOM, "--select: cannot start a process: %s", strerror(errno));
	if (child == 0)
		engine_exec(run, ends[1]);
	close(ends[1]);
	run->selection = read_file(format_text("/dev/fd/%d", ends[0]), &size);
	close(ends[0]);
	if (waitpid(child, &status, 0) < 0 || !WIFEXITED(status) || WEXITSTATUS(status))
		exit(EXIT_FATHOM); /* it has said why */
	if (!run->selection)
		fail(EXIT_FATHOM, "--select: cannot read what the engine says: %s",
		     strerror(errno));
}

bool selection_is_steered(const struct run *run)
{
	size_t size = 0;
	const char *lines = run->options.select ? read_file(selection_path(run), &size) : NULL;

	return lines && strstr(lines, "\ncritical ");
}

/* Ranks that come at once wait for the one that is first. */
void selection_publish(struct run *run)
{
	const char *path = format_text("%s/selection.1", run->ring);
	int lock;

	if (!run->options.select || access(path, F_OK) == 0)
		return;
	lock = open(format_text("%s/select.lock", run->ring), O_CREAT | O_RDWR | O_CLOEXEC, 0600);
	if (lock < 0 || flock(lock, LOCK_EX))
		fail(EXIT_FATHOM, "cannot lock %s: %s", run->ring, strerror(errno));
	if (access(path, F_OK)) {
		selection_compile(run);
		publish(selection_path(run), run->selection, strlen(run->selection));
		publish(path, run->selection, strlen(run->selection));
	}
	close(lock);
}
