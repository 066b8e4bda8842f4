/* --probes: the user's own catalogs become a library that is preloaded beside libfathom.so. Built once for what
 * they hold and this libfathom.so, then found by its name; so a thousand ranks build nothing. */
#include "command.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* Two sums of 64 bits: the name must not be another catalog's. */
struct sum {
	uint64_t a, b;
};

static void add(struct sum *sum, const void *bytes, size_t size)
{
	const unsigned char *byte = bytes;

	for (size_t i = 0; i < size; i++) {
		sum->a = (sum->a ^ byte[i]) * 0x100000001b3u;
		sum->b = (sum->b + byte[i] + 1) * 0x9e3779b97f4a7c15u;
		sum->b ^= sum->b >> 29;
	}
}

static void add_file(struct sum *sum, const char *path)
{
	char block[65536];
	int file = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got = -1;

	while (file >= 0 &&
	       ((got = read(file, block, sizeof(block))) > 0 || (got < 0 && errno == EINTR)))
		if (got > 0)
			add(sum, block, (size_t)got);
	if (got < 0)
		fail(EXIT_FATHOM, "--probes: %s: %s", path, strerror(errno));
	close(file);
	add(sum, "", 1);
}

/* Not its bytes: every rank would read megabytes. */
static void add_library(struct sum *sum, const char *path)
{
	struct stat st;

	if (stat(path, &st))
		fail(EXIT_FATHOM, "%s: %s", path, strerror(errno));
	add(sum, &st.st_size, sizeof(st.st_size));
	add(sum, &st.st_mtim, sizeof(st.st_mtim));
}

static void make_directories(const char *path)
{
	char *copy = format_text("%s", path);

	for (char *slash = strchr(copy + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (mkdir(copy, 0777) && errno != EEXIST)
			fail(EXIT_FATHOM,
			     "--probes: cannot make %s: %s; name a place in XDG_CACHE_HOME", copy,
			     strerror(errno));
		*slash = '/';
	}
}

static const char *cache_path(const struct sum *sum)
{
	const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	const char *path;

	if (!cache || *cache != '/') {
		if (!home || *home != '/')
			fail(EXIT_FATHOM, "--probes: no HOME to build in; name a place in "
					  "XDG_CACHE_HOME");
		cache = format_text("%s/.cache", home);
	}
	path = format_text("%s/fathom/probes/%016llx%016llx.so", cache, (unsigned long long)sum->a,
			   (unsigned long long)sum->b);
	if (strpbrk(path, " :"))
		fail(EXIT_FATHOM,
		     "--probes: %s: the loader's LD_PRELOAD takes no path with a blank or colon; "
		     "name another place in XDG_CACHE_HOME",
		     path);
	return path;
}

/* FILE… of the option, colon-separated and absolute. */
static char **words_of(const char *probes, const char *out)
{
	char *rest = format_text("%s", probes), *word;
	size_t count = 3;
	char **words = calloc(strlen(probes) + 9, sizeof(*words));

	if (!words)
		fail(EXIT_FATHOM, "out of memory");
	words[0] = "list";
	words[1] = "probes";
	words[2] = "build";
	while ((word = strsep(&rest, ":")))
		words[count++] = word;
	words[count++] = "--output";
	words[count] = (char *)out;
	return words;
}

static void build(const char *probes, const char *path)
{
	pid_t child = fork();
	int status;

	if (child == 0) {
		unsetenv("LD_PRELOAD"); /* inside a traced script: no I/O of the program */
		python_exec(words_of(probes, path));
	}
	if (child < 0 || !child_wait(child, &status))
		fail(EXIT_FATHOM, "--probes: cannot start a process: %s", strerror(errno));
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		exit(EXIT_FATHOM); /* it has said why */
}

/* Ranks that come at once wait for the one that builds. Where nothing can be locked each builds its own; the
 * last one renamed stays. */
static void build_once(const char *probes, const char *path)
{
	int lock;

	make_directories(path);
	lock = open(format_text("%s.lock", path), O_CREAT | O_RDWR | O_CLOEXEC, 0666);
	if (lock >= 0)
		flock(lock, LOCK_EX);
	if (access(path, F_OK))
		build(probes, path);
	if (lock >= 0)
		close(lock);
}

const char *probes_library(const char *probes, const char *library)
{
	struct sum sum = {0xcbf29ce484222325u, 1};
	char *rest, *file;
	const char *path;

	if (!probes)
		return NULL;
	rest = format_text("%s", probes);
	while ((file = strsep(&rest, ":")))
		add_file(&sum, file);
	add_library(&sum, library);
	add(&sum, FATHOM_VERSION, sizeof(FATHOM_VERSION));
	path = cache_path(&sum);
	if (access(path, F_OK))
		build_once(probes, path);
	return path;
}
