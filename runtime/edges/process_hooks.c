/* What starts, replaces or ends a process. Arguments go on unchanged. */
#include <errno.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdarg.h>
#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "core/call.h"
#include "core/process.h"
#include "edges/hooks.h"

/* hooks.S: no frame of ours may lie between the caller and what runs twice */
void hook_fork(void), hook_bare_fork(void), hook_other_fork(void), hook_forkpty(void);
void hook_vfork(void), hook_other_vfork(void);
void hook_system(void), hook_popen(void);
void hook_spawn_0(void), hook_spawn_1(void), hook_spawnp_0(void), hook_spawnp_1(void);

static const char *preload_of(char *const *environment)
{
	for (; environment && *environment; environment++)
		if (!strncmp(*environment, "LD_PRELOAD=", 11))
			return *environment + 11;
	return NULL;
}

/* A program that makes its own environment is obeyed; the run says that a part of it is missing. */
static void say_dropped(const char *path, char *const *environment)
{
	const char *now = preload_of(environment);
	bool carried = now && strstr(now, "libfathom");

	if (!carried && environment != environ && preload_of(environ))
		note("exec: %s gets an environment without LD_PRELOAD and is not traced", path);
}

static void before_exec(const char *path, char *const *environment)
{
	say_dropped(path, environment);
	process_before_exec();
}

static int exec_failed(void)
{
	int error = errno;

	process_resume();
	errno = error;
	return -1;
}

static int hook_execve(const char *path, char *const argv[], char *const envp[])
{
	before_exec(path, envp);
	((int (*)(const char *, char *const *, char *const *))originals.execve)(path, argv, envp);
	return exec_failed();
}

static int hook_execv(const char *path, char *const argv[])
{
	before_exec(path, environ);
	((int (*)(const char *, char *const *))originals.execv)(path, argv);
	return exec_failed();
}

static int hook_execvp(const char *file, char *const argv[])
{
	before_exec(file, environ);
	((int (*)(const char *, char *const *))originals.execvp)(file, argv);
	return exec_failed();
}

static int hook_execvpe(const char *file, char *const argv[], char *const envp[])
{
	before_exec(file, envp);
	((int (*)(const char *, char *const *, char *const *))originals.execvpe)(file, argv, envp);
	return exec_failed();
}

static int hook_fexecve(int fd, char *const argv[], char *const envp[])
{
	before_exec("a descriptor", envp);
	((int (*)(int, char *const *, char *const *))originals.fexecve)(fd, argv, envp);
	return exec_failed();
}

static int hook_execveat(int fd, const char *path, char *const argv[], char *const envp[],
			 int flags)
{
	before_exec(path, envp);
	((int (*)(int, const char *, char *const *, char *const *, int))originals.execveat)(
		fd, path, argv, envp, flags);
	return exec_failed();
}

/* The list forms gather their arguments on the stack, as libc does: they may run after vfork. */
static size_t list_length(va_list list)
{
	size_t n = 1;

	while (va_arg(list, char *))
		n++;
	return n;
}

static void list_fill(char **argv, const char *first, size_t n, va_list list)
{
	argv[0] = (char *)first;
	for (size_t i = 1; i <= n; i++)
		argv[i] = va_arg(list, char *); /* the last is the NULL */
}

static int hook_execl(const char *path, const char *first, ...)
{
	va_list list;
	size_t n = 0;

	va_start(list, first);
	n = first ? list_length(list) : 0;
	va_end(list);
	char *argv[n + 1];

	va_start(list, first);
	list_fill(argv, first, n, list);
	va_end(list);
	return hook_execv(path, argv);
}

static int hook_execlp(const char *file, const char *first, ...)
{
	va_list list;
	size_t n;

	va_start(list, first);
	n = first ? list_length(list) : 0;
	va_end(list);
	char *argv[n + 1];

	va_start(list, first);
	list_fill(argv, first, n, list);
	va_end(list);
	return hook_execvp(file, argv);
}

static int hook_execle(const char *path, const char *first, ...)
{
	va_list list;
	char **envp;
	size_t n;

	va_start(list, first);
	n = first ? list_length(list) : 0;
	va_end(list);
	char *argv[n + 1];

	va_start(list, first);
	list_fill(argv, first, n, list);
	envp = va_arg(list, char **);
	va_end(list);
	return hook_execve(path, argv, envp);
}

_Noreturn static void hook_exit(int status)
{
	process_end();
	((void (*)(int))originals.exit)(status);
	__builtin_unreachable();
}

_Noreturn static void hook_Exit(int status)
{
	process_end();
	((void (*)(int))originals.Exit)(status);
	__builtin_unreachable();
}

/* What limits the program's system calls, limits ours. */
static int hook_prctl(int option, unsigned long a2, unsigned long a3, unsigned long a4,
		      unsigned long a5)
{
	const bool limits = option == PR_SET_SECCOMP;
	int result;

	if (limits)
		process_quiet(a2 == SECCOMP_MODE_STRICT);
	result = ((int (*)(int, ...))originals.prctl)(option, a2, a3, a4, a5);
	if (limits)
		process_limited(result == 0);
	return result;
}

/* ---- clone: its child begins in a function, so a frame of ours does no harm ---- */

typedef int clone_function(int (*)(void *), void *, int, void *, void *, void *, void *);

struct begin {
	int (*function)(void *);
	void *argument;
};

static int begin_as_vfork_child(void *given)
{
	const struct begin *begin = given;

	process_vfork_child();
	return begin->function(begin->argument);
}

/* A child with a thread's own storage is a thread, one without our memory a fork. What is left shares this
 * thread's storage, ours too: as a vfork does, while the parent waits, or beside it. */
static int clone_by(clone_function *original, int (*function)(void *), void *stack, int flags,
		    void *argument, void *parent_tid, void *tls, void *child_tid)
{
	struct begin begin = {function, argument};
	int result;

	if (!(flags & CLONE_VM) || !(flags & CLONE_FILES))
		process_shared_descriptors(false);
	if ((flags & (CLONE_VM | CLONE_SETTLS)) != CLONE_VM)
		return original(function, stack, flags, argument, parent_tid, tls, child_tid);
	if ((flags & (CLONE_VFORK | CLONE_THREAD)) != CLONE_VFORK) {
		process_leave_thread();
		return original(function, stack, flags, argument, parent_tid, tls, child_tid);
	}
	result = original(begin_as_vfork_child, stack, flags, &begin, parent_tid, tls, child_tid);
	process_vfork_parent();
	return result;
}

static int hook_clone(int (*function)(void *), void *stack, int flags, void *argument,
		      void *parent_tid, void *tls, void *child_tid)
{
	return clone_by((clone_function *)originals.clone, function, stack, flags, argument,
			parent_tid, tls, child_tid);
}

static int hook_other_clone(int (*function)(void *), void *stack, int flags, void *argument,
			    void *parent_tid, void *tls, void *child_tid)
{
	return clone_by((clone_function *)originals.other_clone, function, stack, flags, argument,
			parent_tid, tls, child_tid);
}

/* ---- called from hooks.S, before the original ---- */

void before_fork(void)
{
	process_shared_descriptors(false);
}

/* True: libc's vfork, of which ours is a copy that can follow the child. Asked once: a signal
 * handler may call vfork. */
_Bool before_vfork(const void *original)
{
	static _Atomic(const void *) in_libc;

	process_shared_descriptors(true);
	if (in_libc != original && edges_in_libc(original))
		in_libc = original;
	return in_libc == original;
}

void before_command(void)
{
	process_shared_descriptors(true);
}

void before_spawn(int *pid, const char *path, const void *actions, const void *attributes,
		  char *const *argv, char *const *envp)
{
	(void)pid, (void)actions, (void)attributes, (void)argv;
	say_dropped(path, envp);
	process_shared_descriptors(true);
}

const struct hook process_hooks[] = {
	{"execve", 1, {hook_execve}, {&originals.execve}},
	{"execv", 1, {hook_execv}, {&originals.execv}},
	{"execvp", 1, {hook_execvp}, {&originals.execvp}},
	{"execvpe", 1, {hook_execvpe}, {&originals.execvpe}},
	{"execl", 1, {hook_execl}, {&originals.execl}},
	{"execle", 1, {hook_execle}, {&originals.execle}},
	{"execlp", 1, {hook_execlp}, {&originals.execlp}},
	{"fexecve", 1, {hook_fexecve}, {&originals.fexecve}},
	{"execveat", 1, {hook_execveat}, {&originals.execveat}},
	{"_exit", 1, {hook_exit}, {&originals.exit}},
	{"_Exit", 1, {hook_Exit}, {&originals.Exit}},
	{"prctl", 1, {hook_prctl}, {&originals.prctl}},
	{"fork", 1, {hook_fork}, {&originals.fork}},
	{"_Fork", 1, {hook_bare_fork}, {&originals.bare_fork}},
	{"__fork", 1, {hook_other_fork}, {&originals.other_fork}},
	{"forkpty", 1, {hook_forkpty}, {&originals.forkpty}},
	{"vfork", 1, {hook_vfork}, {&originals.vfork}},
	{"__vfork", 1, {hook_other_vfork}, {&originals.other_vfork}},
	{"clone", 1, {hook_clone}, {&originals.clone}},
	{"__clone", 1, {hook_other_clone}, {&originals.other_clone}},
	{"system", 1, {hook_system}, {&originals.system}},
	{"popen", 1, {hook_popen}, {&originals.popen}},
	{"posix_spawn",
	 2,
	 {hook_spawn_0, hook_spawn_1},
	 {&originals.spawn[0], &originals.spawn[1]}},
	{"posix_spawnp",
	 2,
	 {hook_spawnp_0, hook_spawnp_1},
	 {&originals.spawnp[0], &originals.spawnp[1]}},
};
const uint32_t process_hooks_count = sizeof(process_hooks) / sizeof(process_hooks[0]);
