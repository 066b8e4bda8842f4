/* --strace: a program that no library can be brought into, recorded by strace; the engine makes streams of its logs. */
#include "../core/layers.h"
#include "command.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LEVEL_CALL = 3 };

/* What moves data, names files, makes processes: a filter in the kernel stops the program at nothing else. */
static const char calls[] = "trace=%file,%desc,%process,sync,munmap,msync,rt_sigreturn,?io_submit,"
			    "?io_getevents,?io_pgetevents,?io_uring_enter";
/* Vectors as a whole, in spite of -s 0, which leaves the data out. */
static const char whole[] = "abbrev=!readv,writev,preadv,pwritev,preadv2,pwritev2";

static const char *needs_library(const struct options *options)
{
	return options->select                ? "--select"
	       : options->tuned               ? "--tuned"
	       : options->tunable             ? "--tunable"
	       : options->probes              ? "--probes"
	       : options->mmap                ? "--mmap"
	       : options->paths               ? "--paths"
	       : options->skip                ? "--skip"
	       : options->regions             ? "--regions"
	       : options->ranks               ? "--ranks"
	       : options->files               ? "--files"
	       : options->sample              ? "--agent, --sample, --ceph, --collect, --trace-sink"
	       : options->servers             ? "--forward"
	       : options->kernel              ? "--kernel"
	       : options->level != LEVEL_CALL ? "--level"
					      : NULL;
}

static bool installed(const char *program)
{
	const char *path = getenv("PATH"), *end;

	for (const char *at = path ? path : "/bin:/usr/bin";; at = end + 1) {
		end = strchrnul(at, ':');
		if (access(format_text("%.*s/%s", (int)(end - at), at, program), X_OK) == 0)
			return true;
		if (!*end)
			return false;
	}
}

void strace_check(struct run *run)
{
	const char *other;

	if (!run->options.strace)
		return;
	other = needs_library(&run->options);
	if (other)
		fail(EXIT_FATHOM, "--strace: records all system calls of files; leave %s out",
		     other);
	if (run->options.layers_asked)
		fail(EXIT_FATHOM, "--strace: sees layer posix only; leave --layers out");
	if (run->launcher.name[0])
		fail(EXIT_FATHOM,
		     "--strace: write it before the launcher: fathom run --strace -- %s …",
		     "mpiexec");
	if (!installed("strace"))
		fail(EXIT_FATHOM, "--strace: strace is not installed; Debian's package strace");
	if (!engine_find())
		fail(EXIT_FATHOM,
		     "--strace: no fathom-engine beside %s; build it or set "
		     "FATHOM_ENGINE",
		     command_directory());
	run->options.recorded = 1 << LAYER_POSIX;
	run->options.counted = 0;
}

static const char *logs(const struct run *run)
{
	return format_text("%s/strace", run->directory);
}

void strace_exec(const struct run *run)
{
	const char *head[] = {"strace", "--seccomp-bpf",
			      "-f",     "-ff",
			      "-qq",    "-ttt",
			      "-T",     "-y",
			      "-s",     "0",
			      "-e",     calls,
			      "-e",     whole,
			      "-o",     format_text("%s/log", logs(run)),
			      "--"};
	const size_t heads = sizeof(head) / sizeof(*head);
	size_t count = 0;
	const char **words;

	while (run->options.command[count])
		count++;
	words = calloc(heads + count + 1, sizeof(*words));
	if (!words || mkdir(logs(run), 0777))
		fail(EXIT_FATHOM, "cannot make %s: %s", logs(run), strerror(errno));
	memcpy(words, head, sizeof(head));
	memcpy(words + heads, run->options.command, count * sizeof(*words));
	execvp(words[0], (char **)words);
	fail(EXIT_FATHOM, "cannot start strace: %s", strerror(errno));
}

pid_t strace_program(pid_t strace)
{
	char line[64];

	if (!read_line(format_text("/proc/%d/task/%d/children", (int)strace, (int)strace), line,
		       sizeof(line)) ||
	    !*line)
		return strace;
	return (pid_t)strtol(line, NULL, 10);
}

void strace_import(const struct run *run)
{
	const char *words[] = {engine_find(), "strace", run->directory, logs(run), NULL};
	int status = 0;
	pid_t child = fork();

	if (child == 0) {
		int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);

		dup2(nowhere, STDOUT_FILENO);
		execv(words[0], (char **)words);
		_exit(EXIT_FATHOM);
	}
	if (child > 0 && child_wait(child, &status) && status == 0)
		return;
	warn("what strace wrote was not imported; it is in %s", logs(run));
}
