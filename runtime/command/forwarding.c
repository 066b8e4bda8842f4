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
	size_t count = 0, beside = 0, at = ahead;
	char **words;

	if (run->options.sink.on) {
		beside = agent_words(run, engine_find(), agent);
		agent[beside++] = "--leave"; /* the servers are there until it has shipped all */
	}

	while (run->options.command[count])
		count++;
	words = calloc(ahead + beside + count + 2, sizeof(*words));
	if (!words)
		fail(EXIT_FATHOM, "out of memory");
	memcpy(words, before, ahead * sizeof(*words));
	for (size_t i = 0; i < beside; i++)
		words[at++] = format_text("--beside=%s", agent[i]);
	words[at++] = "--";
	memcpy(words + at, run->options.command, count * sizeof(*words));
	unsetenv("LD_PRELOAD");
	python_exec(words);
}
