/* A preload tool that counts calls of functions which Fathom uses itself; they must not come here. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int calls;

int dl_iterate_phdr(int (*callback)(struct dl_phdr_info *, size_t, void *), void *data)
{
	int (*next)(int (*)(struct dl_phdr_info *, size_t, void *), void *) =
		(int (*)(int (*)(struct dl_phdr_info *, size_t, void *), void *))dlsym(
			RTLD_NEXT, "dl_iterate_phdr");

	calls++;
	return next(callback, data);
}

char *getenv(const char *name)
{
	calls++;
	return ((char *(*)(const char *))dlsym(RTLD_NEXT, "getenv"))(name);
}

unsigned long getauxval(unsigned long type)
{
	calls++;
	return ((unsigned long (*)(unsigned long))dlsym(RTLD_NEXT, "getauxval"))(type);
}

__attribute__((destructor)) static void end(void)
{
	fprintf(stderr, "listener heard %d\n", calls);
}
