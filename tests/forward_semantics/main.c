/* semantics DIR: runs all checks, each in a directory of its own below DIR, and prints their outcomes, one a line:
 * subject, what is done, outcome, with tabs between. */
#include <limits.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/types.h>
#include <grp.h>

#include "semantics.h"

enum { PATHS = 8, SECONDS = 60 /* that a check may take */ };

static const struct check *const all[] = {
	open_checks,    data_checks,      space_checks,     copy_checks,
	name_checks,    attribute_checks, xattr_checks,     lock_checks,
	process_checks, mapping_checks,   directory_checks, event_checks,
};

static char directory[PATH_MAX / 2];

void say_result(long result)
{
	int error = errno;

	if (result == -1 && !error)
		say("-1");
	else if (result == -1)
		say("%s", strerrorname_np(error) ? strerrorname_np(error) : "errno ?");
	else if (result)
		say("%ld", result);
	else
		say("ok");
}

long must(long result, const char *call, int line)
{
	if (result != -1)
		return result;
	say("%s: %s (line %d)", call, strerror(errno), line);
	_exit(1);
}

const char *in(const char *name)
{
	static char paths[PATHS][PATH_MAX * 2];
	static int next;
	char *path = paths[next++ % PATHS];

	snprintf(path, sizeof(*paths), "%s/%s", directory, name);
	return path;
}

int file_with(const char *name, const char *text)
{
	int fd = (int)MUST(open(in(name), O_RDWR | O_CREAT | O_TRUNC, 0644));

	MUST(pwrite(fd, text, strlen(text), 0));
	return fd;
}

int file_of(const char *name, size_t bytes)
{
	char *text = malloc(bytes + 1);
	int fd;

	for (size_t i = 0; i < bytes; i++)
		text[i] = (char)('a' + i % 26);
	text[bytes] = 0;
	fd = file_with(name, text);
	free(text);
	return fd;
}

static void say_bytes(char *bytes, long n)
{
	for (long i = 0; i < n; i++)
		bytes[i] = bytes[i] ? bytes[i] : '.';
	if (n < 0)
		say_result(n);
	else
		say("\"%.*s\"", (int)n, bytes);
}

void say_read(int fd)
{
	char bytes[60];

	say_bytes(bytes, read(fd, bytes, sizeof(bytes)));
}

void say_content(const char *name)
{
	int fd = open(in(name), O_RDONLY);

	if (fd < 0) {
		say_result(fd);
		return;
	}
	say_read(fd);
	close(fd);
}

long size_of(const char *name)
{
	struct stat about;

	return stat(in(name), &about) ? -1 : about.st_size;
}

static void say_end(int status)
{
	if (WIFSIGNALED(status))
		say("killed by SIG%s", sigabbrev_np(WTERMSIG(status)));
}

void in_child(void (*run)(void *with), void *with)
{
	pid_t child = (pid_t)MUST(fork());
	int status = 0;

	if (!child) {
		run(with);
		_exit(0);
	}
	MUST(waitpid(child, &status, 0));
	say_end(status);
}

void become_nobody(void)
{
	MUST(setgroups(0, NULL));
	MUST(setgid(65534));
	MUST(setuid(65534));
}

static void run(const struct check *check, int number, const char *above)
{
	static const struct rlimit no_core = {0, 0};
	pid_t child;
	int status = 0;

	outcome[0] = 0;
	snprintf(directory, sizeof(directory), "%s/%d", above, number);
	child = fork();
	if (!child) {
		alarm(SECONDS);
		umask(022);
		setrlimit(RLIMIT_CORE, &no_core);
		MUST(mkdir(directory, 0755));
		check->run();
		_exit(0);
	}
	waitpid(child, &status, 0);
	say_end(status);
	printf("%s\t%s\t%s\n", check->subject, check->what, outcome);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	int number = 0;

	if (argc != 2)
		return 2;
	/* Shared with children. */
	outcome = mmap(NULL, LONGEST, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		for (const struct check *check = all[i]; check->run; check++)
			run(check, number++, argv[1]);
	return 0;
}
