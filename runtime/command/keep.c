/* What becomes of the streams once the program has ended. --keep-calls-if: the calls of a node that shows none of the reasons
 * go; their sums stay. The engine decides; a finding's seconds need tables, so Python asks for these first. At level job the
 * streams of a node become one file. */
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

/* At level job streams are a few KB, and a file for each process is what costs. The agent's are written meanwhile. */
static bool gathers(const struct options *options)
{
	return strcmp(options->level_name, "job") == 0 && !options->strace && !options->sample &&
	       !options->sink.on && engine_find();
}

static __attribute__((noreturn)) void become_engine(const char *const *words)
{
	unsetenv("LD_PRELOAD"); /* inside a traced script: no I/O of the program */
	execv(words[0], (char **)words);
	_exit(EXIT_FATHOM);
}

static __attribute__((noreturn)) void drop_calls(const struct run *run)
{
	const bool this_node = run->launcher.name[0];

	become_engine((const char *[]){engine_find(), "thin", run->directory, "--keep-if",
				       run->options.keep_calls_if, this_node ? "--this-node" : NULL,
				       NULL});
}

/* Of this node: of processes on others nobody here knows whether they have ended. */
static __attribute__((noreturn)) void gather(const struct run *run)
{
	become_engine((const char *[]){engine_find(), "gather", run->directory, NULL});
}

void keep_of_node(const struct run *run)
{
	if (run->options.keep_calls_if)
		drop_calls(run);
	if (gathers(&run->options))
		gather(run);
}

static void wait_for(const struct run *run, void (*become)(const struct run *run))
{
	const pid_t child = fork();
	int status;

	if (child == 0)
		become(run);
	if (child > 0)
		child_wait(child, &status);
}

void keep_decide(const struct run *run)
{
	const char *list = run->options.keep_calls_if;
	char *pack[] = {"pack", (char *)run->directory, "--keep-calls-if", (char *)list, NULL};

	if (list && strstr(list, finding))
		python_run(pack);
	else if (list)
		wait_for(run, drop_calls);
	else if (gathers(&run->options))
		wait_for(run, gather);
}
