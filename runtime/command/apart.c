/* Processes of ours beside the program, which outlive what ends its job: the agent, the watcher. */
#include "command.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { LOCK_FD = 3 };

static void redirect(int to, int from, const char *path, int flags)
{
	int fd = from >= 0 ? from : open(path ? path : "/dev/null", flags, 0666);

	if (fd < 0 || dup2(fd, to) < 0)
		_exit(EXIT_FATHOM);
	if (fd == to)
		fcntl(fd, F_SETFD, 0);
	else if (fd != from)
		close(fd);
}

/* Descriptors of the launcher's that stayed open here would keep it waiting for the program's end. */
static void keep_only(int fd_to_keep)
{
	if (fd_to_keep != LOCK_FD)
		dup2(fd_to_keep, LOCK_FD);
	else
		fcntl(fd_to_keep, F_SETFD, 0);
	if (syscall(SYS_close_range, LOCK_FD + 1, ~0u, 0))
		for (int fd = LOCK_FD + 1; fd < sysconf(_SC_OPEN_MAX); fd++)
			close(fd);
}

/* A launcher binds ranks to processors; what is beside them must not share one with the rank that started it. */
static void use_any_processor(void)
{
	cpu_set_t all;

	memset(&all, 0xff, sizeof(all));
	sched_setaffinity(0, sizeof(all), &all); /* the kernel takes those that we may use */
}

/* A launcher that ends a job asks every process of it first: then there is still something to be saved. */
static void outlast_requests(void)
{
	signal(SIGTERM, SIG_IGN);
	signal(SIGINT, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
}

/* In a session of its own, so that no key and no launcher's signal to the job's processes ends it; and a
 * grandchild, so that the program and who waits for it find no child that they do not know. */
bool apart_start(const struct apart *apart)
{
	pid_t child = fork();
	int status;

	if (child == 0) {
		sigset_t none;

		setsid();
		if (fork())
			_exit(0);
		sigemptyset(&none);
		sigprocmask(SIG_SETMASK, &none, NULL);
		redirect(STDIN_FILENO, apart->input, NULL, O_RDONLY);
		redirect(STDOUT_FILENO, apart->output, NULL, O_WRONLY);
		redirect(STDERR_FILENO, -1, apart->log, O_WRONLY | O_CREAT | O_APPEND);
		keep_only(apart->lock_fd);
		use_any_processor();
		outlast_requests();
		unsetenv("FATHOM_RUN");
		unsetenv("LD_PRELOAD");
		if (chdir("/"))
			_exit(EXIT_FATHOM);
		apart->become(apart->of);
	}
	if (child > 0) /* fails where SIGCHLD is ignored; it has waited then, too */
		child_wait(child, &status);
	return child > 0;
}
