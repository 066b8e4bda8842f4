/* Starts the node's agent (docs/commands/agent.md): `fathom-engine agent`, beside the program, never its child. */
#include "command.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

enum { END_MS = 60000 }; /* longest wait for an agent's end; sending may take a while */

/* Who starts an agent holds the ring directory's lock, and the agent inherits it: it is free again when
 * the agent is gone, whatever became of it. -1: the node has an agent. */
static int lock_node(const char *ring)
{
	int fd = open(ring, O_RDONLY | O_DIRECTORY);

	if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0)
		return fd;
	if (fd < 0 || errno != EWOULDBLOCK)
		warn("no agent: cannot lock %s: %s", ring, strerror(errno));
	if (fd >= 0)
		close(fd);
	return -1;
}

const char *engine_find(void)
{
	const char *given = getenv("FATHOM_ENGINE"), *own_folder = command_directory();
	const char *places[] = {
		given && *given ? given : format_text("%s/fathom-engine", own_folder),
		format_text("%s/../engine/target/release/fathom-engine", own_folder),
	};

	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++)
		if (access(places[i], X_OK) == 0)
			return places[i];
	return NULL;
}

size_t agent_words(const struct run *run, const char *engine, const char **words)
{
	const char *first[] = {engine,    "agent",    run->directory,     "--ring",
			       run->ring, "--sample", run->options.sample};
	size_t count = sizeof(first) / sizeof(*first);

	memcpy(words, first, sizeof(first));
	if (run->options.ceph) {
		words[count++] = "--ceph";
		words[count++] = run->options.ceph;
	}
	return count + sink_words(&run->options.sink, words + count);
}

/* What an agent is started with. */
struct agent {
	const struct run *run;
	const char *engine;
	const char *watch; /* a pid to stay for; NULL: standard input says when to end */
};

__attribute__((noreturn)) static void become_agent(const void *of)
{
	const struct agent *agent = of;
	const struct options *options = &agent->run->options;
	const char *words[26];
	size_t count = agent_words(agent->run, agent->engine, words);

	words[count++] = "--locked";
	if (agent->watch) {
		words[count++] = "--watch";
		words[count++] = agent->watch;
	}
	words[count] = NULL;
	if (options->collect) /* in the environment: a command line is everybody's to read */
		setenv("FATHOM_COLLECT", options->collect, 1);
	execv(agent->engine, (char **)words);
	_exit(EXIT_FATHOM);
}

static bool start(const struct run *run, const char *engine, int lock, int input, int output)
{
	const struct agent agent = {
		.run = run,
		.engine = engine,
		.watch = input < 0 ? format_text("%d", (int)getpid()) : NULL,
	};
	const struct apart apart = {
		.input = input,
		.output = output,
		.lock_fd = lock,
		.log = format_text("%s/agent.log", node_directory(run)),
		.become = become_agent,
		.of = &agent,
	};

	return apart_start(&apart);
}

static const char *engine_or_say(void)
{
	const char *engine = engine_find();

	if (!engine)
		warn("no agent: no fathom-engine beside %s/fathom; build it, or set "
		     "FATHOM_ENGINE",
		     command_directory());
	return engine;
}

/* What the agent says next; 0: no more; -1: nothing in time. */
static ssize_t agent_says(int output, char *text, size_t size)
{
	struct pollfd readable = {.fd = output, .events = POLLIN};
	int ready;
	ssize_t got;

	do
		ready = poll(&readable, 1, END_MS);
	while (ready < 0 && errno == EINTR);
	if (ready <= 0)
		return -1;
	do
		got = read(output, text, size);
	while (got < 0 && errno == EINTR);
	return got > 0 ? got : 0;
}

/* Servers that are asked have to be asked before the program begins: then the agent says a line. */
static void await_line(int output)
{
	char letter;

	while (agent_says(output, &letter, 1) == 1)
		if (letter == '\n')
			return;
	warn("no word from the agent: what Ceph's daemons did first may be missing");
}

/* Somebody must say who is critical, if that is what the selection asks. */
static void ask_if_steered(struct run *run)
{
	if (!run->options.sample && selection_is_steered(run))
		run->options.sample = "0";
}

/* Starts it unless nobody asked for one or the node has one. With `wait`, it stays until agent_end(). */
void agent_start(struct run *run, bool wait)
{
	int input[2] = {-1, -1}, output[2] = {-1, -1};
	const char *engine;
	int lock;

	run->agent_input = run->agent_output = -1;
	ask_if_steered(run);
	if (!run->options.sample || (run->options.sink.on && run->options.servers))
		return; /* where servers are started for the program, the agent is, too: forwarding.c */
	engine = engine_or_say();
	lock = engine ? lock_node(run->ring) : -1;
	if (lock < 0)
		return;
	fcntl(lock, F_SETFD, FD_CLOEXEC);
	if (wait && (pipe2(input, O_CLOEXEC) || pipe2(output, O_CLOEXEC)))
		fail(EXIT_FATHOM, "cannot make a pipe: %s", strerror(errno));
	if (!start(run, engine, lock, input[0], output[1]))
		warn("no agent: cannot start a process: %s", strerror(errno));
	close(lock);
	if (!wait)
		return;
	close(input[0]);
	close(output[1]);
	run->agent_input = input[1];
	run->agent_output = output[0];
	if (run->options.ceph)
		await_line(output[0]);
}

/* The program has ended: the agent may. What it says at its end is for the user. */
void agent_end(const struct run *run)
{
	char line[1024];
	ssize_t got;

	if (run->agent_output < 0)
		return;
	close(run->agent_input);
	while ((got = agent_says(run->agent_output, line, sizeof(line))) > 0)
		fwrite(line, 1, (size_t)got, stderr);
	if (got == 0)
		return;
	warn("the agent goes on: it has not ended in %d s", END_MS / 1000);
}

/* $$ is the script's shell, in its subshells too: the agent stays while the script runs. */
void agent_print(struct run *run)
{
	const struct options *options = &run->options;
	const char *log, *engine, *collect = "", *words[18];
	struct text line = {0};
	size_t count;

	if (strcmp(options->shell, "json") == 0)
		return; /* who reads it starts the agent */
	ask_if_steered(run);
	environment_check(options);
	engine = options->sample ? engine_or_say() : NULL;
	if (!engine)
		return;
	log = format_text("%s/agent.log", node_directory(run));
	if (options->collect)
		collect = format_text("FATHOM_COLLECT=%s", sh_quoted(options->collect));
	count = agent_words(run, sh_quoted(engine), words);
	text_add(&line, "(%s", collect);
	for (size_t i = 0; i < count; i++)
		text_add(&line, " %s", i ? sh_quoted(words[i]) : words[i]);
	printf("%s --watch $$ </dev/null >/dev/null 2>>%s &)\n", line.at, sh_quoted(log));
}
