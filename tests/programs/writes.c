/* writes FILE N [SIZE [END]]: N writes of SIZE bytes at a regular stride; call k at offset k * SIZE.
 * END says how the program ends: return, exit N, _exit N, raw (exit_group), abort, segv, term, kill,
 * quick_exit N. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "must.h"

static int end(const char *how)
{
	if (!strcmp(how, "exit"))
		exit(7);
	if (!strcmp(how, "_exit"))
		_exit(7);
	if (!strcmp(how, "quick_exit"))
		quick_exit(7);
	if (!strcmp(how, "raw"))
		syscall(SYS_exit_group, 7);
	if (!strcmp(how, "abort"))
		abort();
	if (!strcmp(how, "segv"))
		raise(SIGSEGV);
	if (!strcmp(how, "term"))
		kill(getpid(), SIGTERM);
	if (!strcmp(how, "kill"))
		kill(getpid(), SIGKILL);
	return !strcmp(how, "return") ? 7 : 1;
}

int main(int argc, char **argv)
{
	MUST(argc >= 3);
	long n = atol(argv[2]);
	size_t size = argc > 3 ? (size_t)atol(argv[3]) : 8;
	char *data = calloc(1, size);
	int fd = open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0644);

	MUST(fd >= 0 && data);
	for (long k = 0; k < n; k++)
		MUST(pwrite(fd, data, size, k * (long)size) == (ssize_t)size);
	return argc > 4 ? end(argv[4]) : 0;
}
