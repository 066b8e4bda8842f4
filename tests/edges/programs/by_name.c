/* write found by every form of dlsym is the write that the program itself calls. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>

typedef ssize_t write_function(int, const void *, size_t);

static void use(const char *how, void *function)
{
	printf("%s: %s, same as write: %d\n", how, function ? "found" : "absent",
	       function == (void *)write);
	fflush(stdout);
	if (function)
		((write_function *)function)(1, "written\n", 8);
}

int main(void)
{
	void *libc = dlopen("libc.so.6", RTLD_LAZY);

	use("default", dlsym(RTLD_DEFAULT, "write"));
	use("next", dlsym(RTLD_NEXT, "write"));
	use("handle", dlsym(libc, "write"));
	use("version", dlvsym(libc, "write", "GLIBC_2.2.5"));
	use("program", dlsym(dlopen(NULL, RTLD_LAZY), "write"));
	return 0;
}
