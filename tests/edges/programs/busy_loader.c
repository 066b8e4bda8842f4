/* Four threads open, use and close libraries while the main one forks children that do the same. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static char **libraries;
static atomic_int wrong;

static int use(const char *library, int n)
{
	void *handle = dlopen(library, RTLD_LAZY | RTLD_LOCAL);
	int (*run)(int) = handle ? (int (*)(int))dlsym(handle, "plugin_run") : NULL;
	int result = run ? run(n) : -1;

	return handle && dlclose(handle) == 0 ? result : -1;
}

static void *work(void *argument)
{
	int n = (int)(long)argument;

	for (int i = 0; i < 200; i++)
		if (use(libraries[(i + n) % 2], i) != i)
			wrong++;
	return NULL;
}

static int child(void)
{
	alarm(20); /* a deadlock ends as a failure */
	for (int i = 0; i < 3; i++)
		if (dlsym(RTLD_DEFAULT, "write") != (void *)write)
			return 1;
	return 0;
}

int main(int argc, char **argv)
{
	pthread_t thread[4];
	int status;

	(void)argc;
	libraries = argv + 1;
	freopen("/dev/null", "w", stdout);
	for (long i = 0; i < 4; i++)
		pthread_create(&thread[i], NULL, work, (void *)i);
	for (int i = 0; i < 20; i++) {
		pid_t pid = fork();

		if (!pid)
			_exit(child());
		if (waitpid(pid, &status, 0) != pid || status)
			wrong++;
	}
	for (int i = 0; i < 4; i++)
		pthread_join(thread[i], NULL);
	fprintf(stderr, "wrong %d\n", wrong);
	return wrong != 0;
}
