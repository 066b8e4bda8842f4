/* fathom: `run` and `env` are native, so that a launcher's thousand ranks start no interpreter;
 * every other command is Python's. */
#include "command.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* What the user's files say: a mistake in them is said before anything is made. */
static void compile(struct run *run)
{
	selection_compile(run);
	tuned_compile(run);
}

/* The program behind a launcher is none that is looked for. */
static void find_program(const struct run *run)
{
	char **command = run->options.command;
	const char *path = program_find(command[0]), *word = program_word(command);

	if (!run->launcher.name[0] && !run->options.strace && !run->options.kernel_calls)
		image_say(word == command[0] ? path : word);
}

static void prepare(struct run *run, bool with_command, int argc, char **argv)
{
	memset(run, 0, sizeof(*run));
	options_parse(&run->options, with_command, argc, argv);
	run->library = library_find();
	run->launcher =
		with_command || run->options.join ? launcher_find() : (struct launcher){"", NULL};
	if (with_command)
		find_program(run);
	keep_check(run);
	strace_check(run);
	kernel_load(run);
	forwarding_check(run);
	if (!run->launcher.name[0]) /* a rank finds out whether its node has it already */
		compile(run);
	run->probes_library = probes_library(run->options.probes, run->library);
	run->program = with_command ? program_name(run->options.command) : "batch";
	ring_check();
	run_name(run);
	run_create(run);
}

/* Ends as the program did: a shell above must see the signal, not only a number. */
static int end_as(int wait_status)
{
	struct rlimit no_core = {0, 0};
	sigset_t signals;

	if (WIFEXITED(wait_status))
		return WEXITSTATUS(wait_status);
	setrlimit(RLIMIT_CORE, &no_core);
	signal(WTERMSIG(wait_status), SIG_DFL);
	sigemptyset(&signals);
	sigaddset(&signals, WTERMSIG(wait_status));
	raise(WTERMSIG(wait_status));
	sigprocmask(SIG_UNBLOCK, &signals, NULL);
	return 128 + WTERMSIG(wait_status);
}

static int command_run(int argc, char **argv)
{
	struct run run;
	int status;

	prepare(&run, true, argc, argv);
	watch_start(&run, !run.launcher.name[0]);
	if (run.launcher.name[0]) {
		agent_start(&run, false);
		environment_set(&run);
		program_exec(run.options.command);
	}
	agent_start(&run, true);
	kernel_follow(&run);
	status = program_wait(&run);
	kernel_end(&run);
	if (run.options.strace)
		strace_import(&run);
	run_finish(&run, status);
	watch_end(&run, status);
	agent_end(&run);
	keep_decide(&run);
	ring_say_unwritten(&run);
	ring_remove_if_done(run.ring);
	if (!run.options.no_show)
		python_run((char *[]){"show", (char *)run.directory, NULL});
	warn("run directory %s", run.directory);
	return end_as(status);
}

static int command_env(int argc, char **argv)
{
	struct run run;

	prepare(&run, false, argc, argv);
	agent_print(&run);
	environment_print(&run);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "run") == 0)
		return command_run(argc - 1, argv + 1);
	if (argc > 1 && strcmp(argv[1], "env") == 0)
		return command_env(argc - 1, argv + 1);
	unsetenv(
		"FATHOM_RUN"); /* inside a traced script: our own reading is no I/O of the program */
	python_exec(argv + 1);
}
