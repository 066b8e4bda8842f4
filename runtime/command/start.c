/* The traced program's environment, and the processes the command starts. */
#include "command.h"

#include "../core/layers.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *directory_of(char *path)
{
	char *slash = strrchr(path, '/');

	if (!slash)
		return ".";
	*slash = '\0';
	return path;
}

const char *command_directory(void)
{
	char path[4096];
	ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);

	if (length < 0)
		fail(EXIT_FATHOM, "cannot tell where this command lies: /proc is not mounted");
	path[length] = '\0';
	return directory_of(format_text("%s", path));
}

const char *library_find(void)
{
	const char *own_folder = command_directory();
	const char *places[] = {
		getenv("FATHOM_LIB"),
		format_text("%s/libfathom.so", own_folder),
		format_text("%s/../lib/fathom/libfathom.so", own_folder),
	};

	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		char *path = places[i] && *places[i] ? realpath(places[i], NULL) : NULL;

		if (!path && i == 0 && places[i] && *places[i])
			fail(EXIT_FATHOM, "FATHOM_LIB: %s: %s", places[i], strerror(errno));
		if (path && strpbrk(path, " :"))
			fail(EXIT_FATHOM,
			     "%s: the loader's LD_PRELOAD takes no path with a blank or colon; "
			     "install Fathom elsewhere",
			     path);
		if (path)
			return path;
	}
	fail(EXIT_FATHOM,
	     "no libfathom.so beside %s or in ../lib/fathom; build it or set FATHOM_LIB",
	     own_folder);
}

static bool preloaded(const char *list, const char *library)
{
	const char *at = list ? strstr(list, library) : NULL;
	size_t length = strlen(library);

	return at && (at == list || strchr(" :", at[-1])) &&
	       (!at[length] || strchr(" :", at[length]));
}

static const char *layers_in_force(const struct options *options)
{
	const char *recorded = layer_list(options->recorded, "");
	const char *counted = layer_list(options->counted, LAYER_COUNTED);

	return format_text("%s%s%s", recorded, *recorded && *counted ? "," : "", counted);
}

/* Where interpreters find what marks the regions (runtime/python), before the user's own places. */
static const char *regions_path(const char *library)
{
	const char *folder = format_text("%s/python", directory_of(format_text("%s", library)));
	const char *own = getenv("PYTHONPATH");

	if (access(format_text("%s/sitecustomize.py", folder), R_OK))
		fail(EXIT_FATHOM, "--regions: %s: %s", folder, strerror(errno));
	return own && *own ? format_text("%s:%s", folder, own) : folder;
}

void environment_each(const struct run *run, void (*use)(const char *name, const char *value))
{
	const struct options *options = &run->options;

	use("FATHOM_RUN", run->directory);
	use("FATHOM_RING", run->ring);
	use("FATHOM_STREAMS", sink_place(run));
	use("FATHOM_LAYERS", layers_in_force(options));
	use("FATHOM_LEVEL", options->level_name);
	use("FATHOM_BUDGET", format_text("%llu", (unsigned long long)options->budget));
	use("FATHOM_SELECT", selection_path(run));
	use("FATHOM_TUNED", tuned_path(run));
	tuned_variables(run, use);
	options_variables(options, use);
	if (options->regions)
		use("PYTHONPATH", regions_path(run->library));
}

static void set(const char *name, const char *value)
{
	if (value ? setenv(name, value, 1) : unsetenv(name))
		fail(EXIT_FATHOM, "cannot set %s: %s", name, strerror(errno));
}

/* The same path for the GNU C library's loader alone: it knows $ORIGIN, the program's folder, and above the root is the
 * root. To others, as musl's, it names a file that is not there, and they go on without; our library would end the
 * program. A shell that loses $ORIGIN leaves the plain path. */
const char *preload_word(const char *library)
{
	enum { DEEPEST = 64 };
	struct text word = {0};

	text_add(&word, "$ORIGIN");
	for (int i = 0; i < DEEPEST; i++)
		text_add(&word, "/..");
	text_add(&word, "%s", library);
	return word.at;
}

static void preload(const char *library)
{
	const char *before = getenv("LD_PRELOAD");
	const char *word = library ? preload_word(library) : NULL;

	if (word && !preloaded(before, word))
		set("LD_PRELOAD", before && *before ? format_text("%s:%s", before, word) : word);
}

void environment_set(const struct run *run)
{
	environment_each(run, set);
	preload(run->library);
	preload(run->probes_library);
}

static int executable(const char *path)
{
	struct stat st;

	if (stat(path, &st))
		return errno;
	if (S_ISDIR(st.st_mode))
		return EISDIR;
	return access(path, X_OK) ? errno : 0;
}

/* Before anything is made: no run directory for a program that is not there. */
const char *program_find(const char *program)
{
	const char *path = getenv("PATH"), *candidate = program;
	int reason = strchr(program, '/') ? executable(program) : ENOENT;
	const char *end;

	for (const char *at = path ? path : "/bin:/usr/bin"; reason && !strchr(program, '/');
	     at = end + 1) {
		int status;

		end = strchrnul(at, ':');
		candidate = format_text("%.*s/%s", end > at ? (int)(end - at) : 1,
					end > at ? at : ".", program);
		status = executable(candidate);
		if (status == 0 || (status == EACCES && reason == ENOENT))
			reason = status;
		if (!*end)
			break;
	}
	if (reason)
		fail(reason == ENOENT || reason == ENOTDIR ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE,
		     "run: %s: %s", program, strerror(reason));
	return candidate;
}

void program_exec(char **command)
{
	execvp(command[0], command);
	fail(errno == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE, "run: %s: %s", command[0],
	     strerror(errno));
}

bool child_wait(pid_t child, int *status)
{
	for (int tries = 0; tries < 3;) {
		if (waitpid(child, status, 0) == child)
			return true;
		tries += errno != EINTR;
	}
	return false;
}

/* Waits for the child. What somebody sends to us alone is passed on; what a terminal sends (from
 * the kernel, si_code > 0), the child has got as well. */
static int wait_forwarding(const struct run *run, pid_t child, const sigset_t *signals)
{
	siginfo_t info, end = {.si_pid = 0};
	int signal, status;

	do {
		signal = sigwaitinfo(signals, &info);
		if (signal > 0 && signal != SIGCHLD && info.si_code <= 0)
			kill(run->options.strace ? strace_program(child) : child, signal);
		if (signal < 0 && errno != EINTR)
			break; /* then without forwarding */
	} while (signal != SIGCHLD ||
		 (waitid(P_PID, (id_t)child, &end, WEXITED | WNOHANG | WNOWAIT) == 0 &&
		  end.si_pid != child));
	if (!child_wait(child, &status))
		fail(EXIT_FATHOM, "run: cannot wait for the program: %s; its run is incomplete",
		     strerror(errno));
	return status;
}

int program_wait(struct run *run)
{
	static const int forwarded[] = {SIGCHLD, SIGHUP,  SIGINT, SIGQUIT,
					SIGTERM, SIGUSR1, SIGUSR2};
	sigset_t signals, before;
	pid_t child;

	sigemptyset(&signals);
	for (size_t i = 0; i < sizeof(forwarded) / sizeof(*forwarded); i++)
		sigaddset(&signals, forwarded[i]);
	signal(SIGCHLD, SIG_DFL); /* inherited "ignore" would lose the status */
	if (sigprocmask(SIG_BLOCK, &signals, &before))
		fail(EXIT_FATHOM, "run: cannot block signals: %s", strerror(errno));
	child = fork();
	if (child < 0)
		fail(EXIT_FATHOM, "run: cannot start a process: %s", strerror(errno));
	if (child == 0) {
		sigprocmask(SIG_SETMASK, &before, NULL);
		if (run->options.strace)
			strace_exec(run);
		environment_set(run);
		if (run->options.servers)
			forwarding_exec(run);
		program_exec(run->options.command);
	}
	run->child = child;
	watch_program(run, child);
	return wait_forwarding(run, child, &signals);
}

/* $FATHOM_PYTHON, else beside the command as it was called, else beside the binary, else the
 * source tree's, else the PATH's. */
static const char *python_find(void)
{
	const char *called = (const char *)getauxval(AT_EXECFN);
	const char *given = getenv("FATHOM_PYTHON");
	const char *own_folder = command_directory();
	const char *places[] = {
		format_text("%s/python3", directory_of(format_text("%s", called ? called : ""))),
		format_text("%s/python3", own_folder),
		format_text("%s/../.venv/bin/python3", own_folder),
	};

	if (given && *given)
		return given;
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++)
		if (executable(places[i]) == 0)
			return places[i];
	return "python3";
}

/* As `-m fathom`; but a package that cannot be loaded is one line that says which, where, and why, and Ctrl-C while it is
 * loaded ends it without a word. */
static const char start_fathom[] =
	"import _signal, sys\n"
	"raises = _signal.getsignal(2) is _signal.default_int_handler\n"
	"if raises:\n"
	"    _signal.signal(2, _signal.SIG_DFL)\n"
	"def why(error):\n"
	"    import os\n"
	"    if not isinstance(error, ImportError):\n"
	"        return f'{error.filename}: {error.strerror}'\n"
	"    if (error.name or '').partition('.')[0] != 'fathom':\n"
	"        return f'{sys.executable}: {error}; install what Fathom needs'\n"
	"    for place in sys.path:\n"
	"        for folder in (place, os.path.join(place, 'fathom')):\n"
	"            if os.path.isdir(folder) and not os.access(folder, os.R_OK | os.X_OK):\n"
	"                return f'{folder}: Permission denied, and Python looks for Fathom there'\n"
	"    return f'{sys.executable} finds no package fathom; install it'\n"
	"try:\n"
	"    from fathom.__main__ import command\n"
	"except (ImportError, OSError) as error:\n"
	"    print(f'fathom: {why(error)}, or name another Python in FATHOM_PYTHON', "
	"file=sys.stderr)\n"
	"    sys.exit(125)\n"
	"if raises:\n"
	"    _signal.signal(2, _signal.default_int_handler)\n"
	"command()\n";

/* Python 3.11 keeps what a limit (ulimit -f) lets it write of a compiled module, and later takes it for a whole one. */
static bool files_are_limited(void)
{
	struct rlimit limit;

	return !getrlimit(RLIMIT_FSIZE, &limit) && limit.rlim_cur != RLIM_INFINITY;
}

/* -P: a file of the user's in the current directory must not stand in for a module. The code is in the environment, as
 * whoever looks at processes wants to see the command. */
void python_exec(char **arguments)
{
	size_t count = 0;
	size_t used = 0;
	const char **words;

	while (arguments[count])
		count++;
	words = calloc(count + 6, sizeof(*words));
	if (!words)
		fail(EXIT_FATHOM, "out of memory");
	words[used++] = python_find();
	words[used++] = "-P";
	if (files_are_limited())
		words[used++] = "-B";
	words[used++] = "-c";
	words[used++] = "import os; exec(os.environ.pop('FATHOM_START'))";
	setenv("FATHOM_START", start_fathom, 1);
	memcpy(words + used, arguments, count * sizeof(*words));
	setenv("FATHOM_COMMAND", format_text("%s/fathom", command_directory()), 1);
	execvp(words[0], (char **)words);
	fail(EXIT_FATHOM, "cannot start %s: %s; name a Python with fathom in FATHOM_PYTHON",
	     words[0], strerror(errno));
}

void python_run(char **arguments)
{
	pid_t child = fork();
	int status;

	if (child == 0) {
		dup2(STDERR_FILENO, STDOUT_FILENO);
		python_exec(arguments);
	}
	if (child > 0)
		child_wait(child, &status);
}
