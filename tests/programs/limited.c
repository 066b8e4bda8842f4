/* Limits its own system calls, then writes N times 64 bytes in each of its threads and processes. Whoever makes a call
 * that is not allowed is killed, and so is a call that comes from libfathom.so.
 * usage: limited WAY FILE N, limited before COMMAND… */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define GET(field)               BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define GET_HIGH(field)          BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field) + 4)
#define IF(test, value, yes, no) BPF_JUMP(BPF_JMP | (test) | BPF_K, value, yes, no)
#define RETURN(what)             BPF_STMT(BPF_RET | BPF_K, what)

enum { THREADS = 3, MOST = 64 };

static struct {
	int fd;
	long n;
	pthread_barrier_t limited;
} shared;

static struct sock_filter code[MOST];
static struct sock_fprog filter = {.filter = code};

static void add(struct sock_filter one)
{
	code[filter.len++] = one;
}

/* Where libfathom.so lies, up to a multiple of 4 GiB. */
static void find_library(uint64_t *begin, uint64_t *end)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[4096];
	unsigned long from, to;

	*begin = *end = 0;
	while (maps && fgets(line, sizeof(line), maps)) {
		if (!strstr(line, "libfathom.so") || sscanf(line, "%lx-%lx", &from, &to) != 2)
			continue;
		*begin = *begin ? *begin : from;
		*end = to;
	}
	if (maps)
		fclose(maps);
	if (*begin >> 32 != *end >> 32)
		*end = *begin | 0xffffffff;
}

static void forbid_library(void)
{
	uint64_t begin, end;

	find_library(&begin, &end);
	add((struct sock_filter)GET_HIGH(instruction_pointer));
	add((struct sock_filter)IF(BPF_JEQ, (uint32_t)(begin >> 32), 0, 4));
	add((struct sock_filter)GET(instruction_pointer));
	add((struct sock_filter)IF(BPF_JGE, (uint32_t)begin, 0, 2));
	add((struct sock_filter)IF(BPF_JGE, (uint32_t)end, 1, 0));
	add((struct sock_filter)RETURN(SECCOMP_RET_KILL_PROCESS));
}

static void allow_only(const int *numbers, size_t count)
{
	add((struct sock_filter)GET(nr));
	for (size_t i = 0; i < count; i++)
		add((struct sock_filter)IF(BPF_JEQ, (uint32_t)numbers[i], (uint8_t)(count - i), 0));
	add((struct sock_filter)RETURN(SECCOMP_RET_KILL_PROCESS));
	add((struct sock_filter)RETURN(SECCOMP_RET_ALLOW));
}

static void forbid(const int *numbers, size_t count)
{
	add((struct sock_filter)GET(nr));
	for (size_t i = 0; i < count; i++)
		add((struct sock_filter)IF(BPF_JEQ, (uint32_t)numbers[i], (uint8_t)(count - i), 0));
	add((struct sock_filter)RETURN(SECCOMP_RET_ALLOW));
	add((struct sock_filter)RETURN(SECCOMP_RET_KILL_PROCESS));
}

static const int needed[] = {SYS_pwrite64, SYS_read, SYS_write, SYS_close, SYS_exit_group};
enum { NEEDED = sizeof(needed) / sizeof(needed[0]) };

static void must(int good, const char *what)
{
	if (good)
		return;
	perror(what);
	_exit(9);
}

static void no_new_rights(void)
{
	must(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0, "no new privileges");
}

static void *writes(void *unused)
{
	const char block[64] = "block";

	(void)unused;
	for (long i = 0; i < shared.n; i++)
		if (pwrite(shared.fd, block, sizeof(block), i * 64) != 64)
			_exit(2);
	return NULL;
}

static void *waits_then_writes(void *unused)
{
	pthread_barrier_wait(&shared.limited);
	return writes(unused);
}

static int end(void)
{
	close(shared.fd);
	return write(1, "done\n", 5) == 5 ? 0 : 3;
}

static int by_prctl(void)
{
	forbid_library();
	allow_only(needed, NEEDED);
	no_new_rights();
	must(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0, "prctl");
	writes(NULL);
	return end();
}

static int by_syscall(void)
{
	forbid_library();
	allow_only(needed, NEEDED);
	no_new_rights();
	must(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter) == 0, "seccomp");
	writes(NULL);
	return end();
}

/* Four system calls are left. */
static int strict(void)
{
	const char block[64] = "block";

	must(prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) == 0, "strict");
	for (long i = 0; i < shared.n; i++)
		if (write(shared.fd, block, sizeof(block)) != 64)
			syscall(SYS_exit, 2);
	write(1, "done\n", 5);
	syscall(SYS_exit, 0);
	return 4;
}

static void start(pthread_t *thread, void *(*what)(void *))
{
	for (int i = 0; i < THREADS; i++)
		must(pthread_create(&thread[i], NULL, what, NULL) == 0, "thread");
}

static void join(const pthread_t *thread)
{
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
}

/* One thread limits all; others begin later, and a process. */
static int threads(void)
{
	pthread_t before[THREADS], after[THREADS];
	int status = 0;
	pid_t child;

	forbid_library();
	add((struct sock_filter)RETURN(SECCOMP_RET_ALLOW));
	pthread_barrier_init(&shared.limited, NULL, THREADS + 1);
	start(before, waits_then_writes);
	no_new_rights();
	must(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &filter) == 0,
	     "seccomp");
	pthread_barrier_wait(&shared.limited);
	start(after, writes);
	child = fork();
	if (child == 0) {
		writes(NULL);
		_exit(0);
	}
	waitpid(child, &status, 0);
	join(before);
	join(after);
	return status ? 5 : end();
}

static volatile long handled;

static void writes_too(int number)
{
	(void)number;
	handled++;
	must(pwrite(shared.fd, "signal's block", 14, 0) == 14, "pwrite");
}

/* Handlers come in anywhere, and write; how many is printed. */
static int signals(void)
{
	const struct itimerval often = {{0, 50}, {0, 50}}, never = {{0, 0}, {0, 0}};
	struct sigaction act = {.sa_handler = writes_too, .sa_flags = SA_RESTART};

	forbid_library();
	add((struct sock_filter)RETURN(SECCOMP_RET_ALLOW));
	no_new_rights();
	must(sigaction(SIGALRM, &act, NULL) == 0, "sigaction");
	must(setitimer(ITIMER_REAL, &often, NULL) == 0, "timer");
	must(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter) == 0, "seccomp");
	writes(NULL);
	must(setitimer(ITIMER_REAL, &never, NULL) == 0, "timer");
	printf("%ld\n", handled);
	return fflush(stdout) || end();
}

/* What programs do to find out whether there are filters. */
static int refused(void)
{
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL) == 0)
		return 6;
	writes(NULL);
	return end();
}

/* The child's limits are not its parent's. */
static int in_vfork(char **arguments)
{
	const int ours[] = {SYS_madvise, SYS_rt_sigprocmask, SYS_uname};
	int status = 0;
	pid_t child;

	forbid(ours, 3);
	child = vfork();
	if (child == 0) {
		if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
		    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter))
			_exit(9);
		execv(arguments[0], arguments);
		_exit(8);
	}
	waitpid(child, &status, 0);
	if (status)
		return 7;
	writes(NULL);
	return end();
}

/* The limits stay, whatever image comes. */
static int image(char **arguments)
{
	const int ours[] = {SYS_madvise, SYS_rt_sigprocmask, SYS_uname};

	forbid(ours, 3);
	no_new_rights();
	must(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0, "prctl");
	writes(NULL);
	execv(arguments[0], arguments);
	return 8;
}

/* As in a container: whoever is started from here may do nearly all, and is told of the rest by an error. */
static int before(char **command)
{
	add((struct sock_filter)GET(nr));
	add((struct sock_filter)IF(BPF_JEQ, SYS_ptrace, 0, 1));
	add((struct sock_filter)RETURN(SECCOMP_RET_ERRNO | EPERM));
	add((struct sock_filter)RETURN(SECCOMP_RET_ALLOW));
	no_new_rights();
	must(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0, "prctl");
	execv(command[0], command);
	return 8;
}

static int freely(void)
{
	writes(NULL);
	return end();
}

int main(int count, char **argument)
{
	char *freely_again[] = {argument[0], "freely", argument[2], argument[3], NULL};
	const char *way = argument[1];

	if (count > 2 && !strcmp(way, "before"))
		return before(argument + 2);
	if (count != 4)
		return 1;
	shared.fd = open(argument[2], O_CREAT | O_RDWR, 0600);
	shared.n = atol(argument[3]);
	must(shared.fd >= 0, argument[2]);
	return !strcmp(way, "prctl")     ? by_prctl()
	       : !strcmp(way, "syscall") ? by_syscall()
	       : !strcmp(way, "strict")  ? strict()
	       : !strcmp(way, "threads") ? threads()
	       : !strcmp(way, "signals") ? signals()
	       : !strcmp(way, "refused") ? refused()
	       : !strcmp(way, "vfork")   ? in_vfork(freely_again)
	       : !strcmp(way, "image")   ? image(freely_again)
					 : freely();
}
