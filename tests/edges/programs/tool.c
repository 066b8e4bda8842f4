/* Another preload tool, made the usual way. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>

static int calls;

ssize_t write(int fd, const void *buffer, size_t size)
{
	static ssize_t (*next)(int, const void *, size_t);

	if (!next)
		next = (ssize_t(*)(int, const void *, size_t))dlsym(RTLD_NEXT, "write");
	calls++;
	return next(fd, buffer, size);
}

__attribute__((destructor)) static void end(void)
{
	fprintf(stderr, "tool saw %d\n", calls);
}
