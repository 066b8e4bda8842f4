/* --kernel: `fathom-engine kernel` beside the program loads what tells of the kernel's work, and is told when to begin and
 * to end. It answers in lines: "loaded", "ready", what was lost, "done"; or why it cannot. */
#include "command.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What it is started with. */
struct recorder {
	const char *engine, *parent, *calls; /* calls: NULL or an option */
};

__attribute__((noreturn)) static void become_recorder(const void *of)
{
	const struct recorder *recorder = of;

	execl(recorder->engine, recorder->engine, "kernel", "--parent", recorder->parent,
	      recorder->calls, NULL);
	_exit(EXIT_FATHOM);
}

/* What it says next, without the line's end; "": it is gone. */
static const char *line_of(int output)
{
	struct text line = {0};
	char letter;
	ssize_t got;

	text_add(&line, "%s", "");
	while ((got = read(output, &letter, 1)) == 1 || (got < 0 && errno == EINTR)) {
		if (got == 1 && letter == '\n')
			break;
		if (got == 1)
			text_add(&line, "%c", letter);
	}
	return line.at;
}

static void await(int output, const char *word)
{
	const char *line = line_of(output);

	if (strcmp(line, word))
		fail(EXIT_FATHOM, "--kernel: %s", *line ? line : "fathom-engine ended at once");
}

void kernel_load(struct run *run)
{
	const struct recorder recorder = {engine_find(), format_text("%d", (int)getpid()),
					  run->options.kernel_calls ? "--calls" : NULL};
	int input[2], output[2];
	struct apart apart = {.become = become_recorder, .of = &recorder};

	run->kernel_input = run->kernel_output = -1;
	if (!run->options.kernel)
		return;
	if (run->launcher.name[0])
		fail(EXIT_FATHOM,
		     "--kernel: write it before the launcher: fathom run --kernel -- %s …",
		     "mpiexec");
	if (!recorder.engine)
		fail(EXIT_FATHOM,
		     "--kernel: no fathom-engine beside %s; build it or set FATHOM_ENGINE",
		     command_directory());
	if (pipe2(input, O_CLOEXEC) || pipe2(output, O_CLOEXEC))
		fail(EXIT_FATHOM, "cannot make a pipe: %s", strerror(errno));
	apart.input = input[0];
	apart.output = output[1];
	apart.lock_fd = output[1];
	if (!apart_start(&apart))
		fail(EXIT_FATHOM, "--kernel: cannot start a process: %s", strerror(errno));
	close(input[0]);
	close(output[1]);
	await(output[0], "loaded");
	run->kernel_input = input[1];
	run->kernel_output = output[0];
}

/* Last before the program: whatever else we start is not followed. */
void kernel_follow(struct run *run)
{
	if (run->kernel_input < 0)
		return;
	dprintf(run->kernel_input, "%s\n%s\n", node_directory(run), run->library);
	await(run->kernel_output, "ready");
}

void kernel_end(const struct run *run)
{
	const char *line;

	if (run->kernel_input < 0)
		return;
	close(run->kernel_input);
	for (;;) {
		line = line_of(run->kernel_output);
		if (!*line || strcmp(line, "done") == 0)
			break;
		warn("--kernel: %s", line);
	}
	if (!*line)
		warn("--kernel: it was not recorded to its end");
}
