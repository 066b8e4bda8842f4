/* --tuned: a settings file becomes lines that every process reads, variables of the launch, layouts of directories. Python
 * makes them once, before the program starts; the lines lie in the run directory. */
#include "command.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char head[] = "fathom-tuned 1"; /* docs/settings.md, "What processes read" */

static const char *hints_path(const struct run *run)
{
	return format_text("%s/romio-hints", run->directory);
}

/* Started inside a run of the same settings, as a launcher's ranks are: theirs hold. */
static const char *inherited(const struct run *run)
{
	const char *outer = getenv("FATHOM_RUN");

	return outer && strcmp(outer, run->directory) == 0 ? getenv("FATHOM_TUNED") : NULL;
}

static bool sets_any(const struct run *run)
{
	return run->options.tuned || run->options.tunable;
}

const char *tuned_path(const struct run *run)
{
	return sets_any(run) ? format_text("%s/tuned", run->directory) : inherited(run);
}

__attribute__((noreturn)) static void compile_exec(const struct run *run)
{
	char *words[] = {"list", "knobs", "--apply", (char *)run->options.tuned, NULL};

	unsetenv("FATHOM_RUN");
	python_exec(words);
}

/* Without settings to begin with, or with them: others may come. */
static const char *with_live(const char *tuned)
{
	const char *end = tuned ? strchr(tuned, '\n') : NULL;

	return format_text("%s\nlive\n%s", head, end ? end + 1 : "");
}

void tuned_compile(struct run *run)
{
	if (!sets_any(run) || run->tuned)
		return;
	if (run->options.tuned) {
		run->tuned = output_of(run, "--tuned", compile_exec);
		if (!run->tuned)
			fail(EXIT_FATHOM, "--tuned: cannot read the settings: %s", strerror(errno));
		forwarding_tuned(run);
	}
	if (run->options.tunable)
		run->tuned = with_live(run->tuned);
}

char *tuned_line(const char **at, const char *word)
{
	const size_t length = strlen(word);

	while (*at && **at) {
		const char *line = *at, *end = strchrnul(line, '\n');

		*at = *end ? end + 1 : end;
		if (strncmp(line, word, length) == 0 && line[length] == ' ')
			return format_text("%.*s", (int)(end - line - length - 1),
					   line + length + 1);
	}
	return NULL;
}

static void write_hints(const struct run *run)
{
	const char *at = run->tuned;
	struct text hints = {0};
	char *line;

	while ((line = tuned_line(&at, "romio")))
		text_add(&hints, "%s\n", line);
	if (hints.at)
		publish(hints_path(run), hints.at, hints.used);
}

/* Ranks that come at once wait for the one that is first. */
void tuned_publish(struct run *run)
{
	const char *path = tuned_path(run);
	size_t size = 0;
	int lock;

	if (!sets_any(run))
		return;
	lock = ring_lock(run);
	if (access(path, F_OK)) {
		tuned_compile(run);
		write_hints(run);
		publish(path, run->tuned, strlen(run->tuned));
	}
	close(lock);
	run->tuned = read_file(path, &size);
	if (!run->tuned)
		fail(EXIT_FATHOM, "--tuned: %s: %s", path, strerror(errno));
}

void tuned_variables(const struct run *run, void (*use)(const char *name, const char *value))
{
	const char *at = run->tuned;
	char *line;

	while ((line = tuned_line(&at, "environment"))) {
		char *name = strsep(&line, " ");

		use(name, line);
	}
	at = run->tuned;
	if (tuned_line(&at, "romio"))
		use("ROMIO_HINTS", hints_path(run));
}
