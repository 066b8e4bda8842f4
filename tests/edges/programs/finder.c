/* A library that opens another by a name which only its own RPATH, RUNPATH or $ORIGIN explains. */
#include <dlfcn.h>
#include <stdio.h>

void find(const char *name);

void find(const char *name)
{
	void *handle = dlopen(name, RTLD_NOW);
	int (*put)(void) = handle ? (int (*)(void))dlsym(handle, "hidden_put") : NULL;

	if (put)
		put();
	else
		printf("%s\n", dlerror());
}
