/* `--forward`: forwarding servers are started before the program and ended after it, by `fathom forward with`. */
#include "command.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void forwarding_check(const struct run *run)
{
	if (!run->options.servers)
		return;
	if (run->launcher.name[0])
		fail(EXIT_FATHOM,
		     "run: --forward starts servers once, for all ranks: "
		     "write fathom run --forward -- mpiexec ... in front of the launcher");
}

/* What the settings say of servers, before one is started: how many there are. */
void forwarding_tuned(struct run *run)
{
	const char *at = run->tuned, *last = NULL;
	char *line;

	while ((line = tuned_line(&at, "option"))) {
		last = strsep(&line, " ");
		if (strcmp(last, "servers") == 0)
			run->options.servers = (unsigned)strtoul(line, NULL, 10);
	}
	if (!last)
		return;
	if (!*run->options.command || run->launcher.name[0])
		fail(EXIT_FATHOM,
		     "--tuned: %s is of forwarding servers, which start once, for all ranks: "
		     "write fathom run --tuned FILE -- mpiexec ... in front of the launcher",
		     last);
	if (!run->options.servers)
		fail(EXIT_FATHOM,
		     "--tuned: %s is of forwarding servers, and none is started: set servers, or "
		     "add --forward",
		     last);
}

/* Of their configuration: the other settings. */
static size_t add_tuned(const struct run *run, char **words)
{
	const char *at = run->tuned;
	size_t count = 0;
	char *line;

	while ((line = tuned_line(&at, "option"))) {
		char *name = strsep(&line, " ");

		if (strcmp(name, "servers") != 0)
			words[count++] = format_text("--set=%s=%s", name, line);
	}
	return count;
}

static const char *exported(const struct run *run)
{
	const char *path = run->options.forward_path;

	path = path ? path : getcwd(NULL, 0);
	if (!path)
		fail(EXIT_FATHOM, "cannot name the current directory: %s", strerror(errno));
	return path;
}

/* With the environment of the traced program but for what is preloaded, which is the program's alone: neither servers nor
 * the interpreter that starts them are traced. FATHOM_RUN tells the servers where to record themselves. */
void forwarding_exec(const struct run *run)
{
	const char *storage = run->options.forward_storage;
	const char *before[] = {
		"forward",
		"with",
		"--export",
		exported(run),
		"--servers",
		format_text("%u", run->options.servers),
		"--at",
		format_text("%s/forward", run->directory),
		"--preload",
		getenv("LD_PRELOAD"),
		storage ? format_text("--storage=%s", storage) : NULL,
	};
	const char *agent[20];
	const size_t ahead = sizeof(before) / sizeof(*before) - !storage;
	const size_t tuned =
		run->tuned ? strlen(run->tuned) / strlen("option x y") : 0; /* at most */
	size_t count = 0, beside = 0, at = ahead;
	char **words;

	if (run->options.sink.on) {
		beside = agent_words(run, engine_find(), agent);
		agent[beside++] = "--leave"; /* the servers are there until it has shipped all */
	}

	while (run->options.command[count])
		count++;
	words = calloc(ahead + tuned + beside + count + 2, sizeof(*words));
	if (!words)
		fail(EXIT_FATHOM, "out of memory");
	memcpy(words, before, ahead * sizeof(*words));
	at += add_tuned(run, words + at);
	for (size_t i = 0; i < beside; i++)
		words[at++] = format_text("--beside=%s", agent[i]);
	words[at++] = "--";
	memcpy(words + at, run->options.command, count * sizeof(*words));
	unsetenv("LD_PRELOAD");
	python_exec(words);
}
