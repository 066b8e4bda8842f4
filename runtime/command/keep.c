/* --keep-calls-if: once the program has ended, the calls of a node that shows none of the reasons go; their sums stay. The
 * engine decides; a finding's seconds need tables, so Python asks for these first. */
#include "command.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char finding[] = "finding>";

/* The engine knows the reasons. */
static void exec_reasons(const struct run *run)
{
	const char *words[] = {engine_find(), "reasons", run->options.keep_calls_if, NULL};

	execv(words[0], (char **)words);
	fail(EXIT_FATHOM, "cannot start %s: %s", words[0], strerror(errno));
}

void keep_check(const struct run *run)
{
	const struct options *options = &run->options;
	const char *beside = options->strace    ? "--strace"
			     : options->collect ? "--collect"
			     : options->sink.on ? "--trace-sink"
						: NULL;
	static const char wrong[] = "wrong ";
	const char *answer;

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
	answer = output_of(run, "--keep-calls-if", exec_reasons);
	if (strncmp(answer, wrong, strlen(wrong)) == 0)
		fail(EXIT_FATHOM, "--keep-calls-if: %.*s",
		     (int)strcspn(answer + strlen(wrong), "\n"), answer + strlen(wrong));
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
