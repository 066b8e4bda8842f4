/* --keep-calls-if: once the program has ended, the calls of a node that shows none of the reasons go; their sums stay. The
 * engine decides; a finding's seconds need tables, so Python asks for these first. */
#include "command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char finding[] = "finding>";

/* NAME>NUMBER and the unit. */
static bool is_above(const char *word, const char *name, char unit)
{
	const size_t length = strlen(name);
	char *end;

	if (strncmp(word, name, length))
		return false;
	return strtod(word + length, &end) >= 0 && end > word + length && *end == unit && !end[1];
}

static bool is_reason(const char *word)
{
	static const char *const words[] = {"errors", "unfinished", "failed"};

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (strcmp(word, words[i]) == 0)
			return true;
	return is_above(word, "io>", '%') || is_above(word, finding, 's');
}

const char *keep_parse(const char *list)
{
	char *rest = format_text("%s", list), *word;

	while ((word = strsep(&rest, ",")))
		if (!is_reason(word))
			fail(EXIT_FATHOM,
			     "--keep-calls-if: '%s' is no reason to keep calls; there are io>10%%, "
			     "errors, unfinished, failed, finding>5s",
			     word);
	return format_text("%s",
			   list); /* the watcher takes the words of the command line for its name */
}

void keep_check(const struct run *run)
{
	const struct options *options = &run->options;
	const char *beside = options->strace    ? "--strace"
			     : options->collect ? "--collect"
			     : options->sink.on ? "--trace-sink"
						: NULL;

	if (!options->keep_calls_if)
		return;
	if (beside)
		fail(EXIT_FATHOM,
		     "--keep-calls-if: with %s the calls are elsewhere by then; fathom pack RUN "
		     "--keep-calls-if decides there",
		     beside);
	if (run->launcher.name[0] && strstr(options->keep_calls_if, finding))
		fail(EXIT_FATHOM,
		     "--keep-calls-if: a finding is of the whole run, which a rank does not know; "
		     "fathom pack RUN --keep-calls-if decides when the job has ended");
	if (!engine_find())
		fail(EXIT_FATHOM,
		     "--keep-calls-if: no fathom-engine beside %s/fathom; build it, or set "
		     "FATHOM_ENGINE",
		     command_directory());
}

void keep_become(const struct run *run, bool this_node)
{
	const char *words[] = {engine_find(),
			       "thin",
			       run->directory,
			       "--keep-if",
			       run->options.keep_calls_if,
			       this_node ? "--this-node" : NULL,
			       NULL};

	unsetenv("LD_PRELOAD"); /* inside a traced script: no I/O of the program */
	execv(words[0], (char **)words);
	_exit(EXIT_FATHOM);
}

void keep_decide(const struct run *run)
{
	const char *list = run->options.keep_calls_if;
	char *pack[] = {"pack", (char *)run->directory, "--keep-calls-if", (char *)list, NULL};
	pid_t child;
	int status;

	if (!list)
		return;
	if (strstr(list, finding)) {
		python_run(pack);
		return;
	}
	child = fork();
	if (child == 0)
		keep_become(run, false);
	if (child > 0)
		child_wait(child, &status);
}
