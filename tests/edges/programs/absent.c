/* What is not there must stay not there: the tests programs make before they use MPI or HDF5. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>

extern int MPI_Initialized(int *flag) __attribute__((weak));

static void look(const char *how, void *handle, const char *name)
{
	void *symbol = dlsym(handle, name);
	const char *error = dlerror();

	printf("%s %s: %s, %s\n", how, name, symbol ? "there" : "absent",
	       error ? error : "no error");
	error = dlerror();
	printf("second dlerror: %s\n", error ? error : "none");
}

int main(void)
{
	void *libc = dlopen("libc.so.6", RTLD_LAZY);

	printf("weak MPI_Initialized: %s\n", MPI_Initialized ? "there" : "absent");
	look("default", RTLD_DEFAULT, "H5open");
	look("next", RTLD_NEXT, "H5open");
	look("handle", libc, "H5open");
	look("handle", libc, "no_such_function");
	look("handle", libc, "write");
	look("version", dlvsym(libc, "write", "GLIBC_9.9") ? libc : NULL, "H5open");
	printf("unknown library: %s\n", dlopen("libabsent.so.9", RTLD_LAZY) ? "there" : dlerror());
	return 0;
}
