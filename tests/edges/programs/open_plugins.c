/* Opens plugins: each argument is FLAG:PATH, FLAG one of l (local), g (global), d (deepbind),
 * m (RTLD_DEFAULT: the program's own scope), c (close the last one), o (open and keep, run nothing),
 * r (run the opened one). */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

static void *last, *opened;

static void run(void *function, int n)
{
	if (function)
		((int (*)(int))function)(n);
	else
		printf("absent\n");
	fflush(stdout);
}

static void act(const char *what, int n)
{
	int flags = RTLD_LAZY | (*what == 'g' ? RTLD_GLOBAL : RTLD_LOCAL) |
		    (*what == 'd' ? RTLD_DEEPBIND : 0);

	if (*what == 'm') {
		run(dlsym(RTLD_DEFAULT, what + 2), n);
	} else if (*what == 'o') {
		opened = dlopen(what + 2, flags);
	} else if (*what == 'r') {
		run(dlsym(opened, "plugin_run"), n);
	} else if (*what == 'c') {
		printf("close %d\n", dlclose(last));
	} else {
		last = dlopen(what + 2, flags);
		if (!last)
			printf("%s\n", dlerror());
		else
			run(dlsym(last, "plugin_run"), n);
	}
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		act(argv[i], i);
	return 0;
}
