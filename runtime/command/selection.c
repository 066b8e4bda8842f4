/* --select: the engine makes of the user's file what every process reads, once per node. */
#include "command.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

bool selection_is_word(const char *select)
{
	return strcmp(select, "critical") == 0;
}

const char *selection_path(const struct run *run)
{
	return run->options.select ? format_text("%s/selection", run->directory) : NULL;
}

__attribute__((noreturn)) static void engine_exec(const struct run *run)
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
	execv(engine, (char **)words);
	fail(EXIT_FATHOM, "cannot start %s: %s", engine, strerror(errno));
}

void selection_compile(struct run *run)
{
	if (!run->options.select || run->selection)
		return;
	run->selection = output_of(run, "--select", engine_exec);
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
	lock = ring_lock(run);
	if (access(path, F_OK)) {
		selection_compile(run);
		publish(selection_path(run), run->selection, strlen(run->selection));
		publish(path, run->selection, strlen(run->selection));
	}
	close(lock);
}
