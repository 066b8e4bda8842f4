/* Starts and ends processes in every way; the argument names it. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static char *const echo[] = {"echo", "said", NULL};
static char *const bare[] = {"A=1", NULL};

static void wait_for(pid_t pid)
{
	int status = 0;

	if (pid < 0 || waitpid(pid, &status, 0) < 0)
		printf("no child: %s\n", strerror(errno));
	printf("status %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -1);
}

static int cloned(void *argument)
{
	(void)argument;
	write(1, "cloned\n", 7);
	_exit(5);
}

static void start(const char *how)
{
	static char stack[65536];
	pid_t pid = -1;

	if (!strcmp(how, "fork")) {
		pid = fork();
		if (!pid)
			_exit(3);
	} else if (!strcmp(how, "vfork-exit")) {
		pid = vfork();
		if (!pid)
			_exit(4);
	} else if (!strcmp(how, "vfork-execve")) {
		pid = vfork();
		if (!pid)
			execve("/bin/echo", echo, environ);
	} else if (!strcmp(how, "vfork-fail")) {
		pid = vfork();
		if (!pid) {
			execlp("no-such-program", "x", NULL);
			_exit(errno == ENOENT ? 9 : 8);
		}
	} else if (!strcmp(how, "clone")) {
		pid = clone(cloned, stack + sizeof(stack), SIGCHLD, NULL);
	} else if (!strcmp(how, "spawn")) {
		posix_spawn(&pid, "/bin/echo", NULL, NULL, echo, environ);
	} else if (!strcmp(how, "spawnp")) {
		posix_spawnp(&pid, "echo", NULL, NULL, echo, bare);
	}
	wait_for(pid);
}

static void replace(const char *how)
{
	if (!strcmp(how, "execl"))
		execl("/bin/echo", "echo", "one", "two", (char *)NULL);
	else if (!strcmp(how, "execle"))
		execle("/usr/bin/env", "env", (char *)NULL, bare);
	else if (!strcmp(how, "execlp"))
		execlp("echo", "echo", "said", (char *)NULL);
	else if (!strcmp(how, "execv"))
		execv("/bin/echo", echo);
	else if (!strcmp(how, "execvp"))
		execvp("echo", echo);
	else if (!strcmp(how, "execvpe"))
		execvpe("echo", echo, bare);
	else if (!strcmp(how, "fexecve"))
		fexecve(open("/bin/echo", O_RDONLY), echo, environ);
	else if (!strcmp(how, "execveat"))
		execveat(AT_FDCWD, "/bin/echo", echo, environ, 0);
	else if (!strcmp(how, "exec-fail"))
		printf("%d %s\n", execl("/no/such", "x", (char *)NULL), strerror(errno));
	else if (!strcmp(how, "_exit"))
		_exit(6);
	else if (!strcmp(how, "_Exit"))
		_Exit(6);
	else if (!strcmp(how, "quick_exit"))
		quick_exit(7);
	else if (!strcmp(how, "system"))
		printf("%d\n", system("echo said"));
	else if (!strcmp(how, "popen"))
		printf("%d\n", pclose(popen("cat", "w")));
	else
		start(how);
}

int main(int argc, char **argv)
{
	(void)argc;
	setvbuf(stdout, NULL, _IONBF, 0);
	write(1, "start\n", 6);
	replace(argv[1]);
	return 0;
}
