/* The run directory and its run.json (docs/run-json.md). */
#include "command.h"

#include <errno.h>
#include <ftw.h>
#include <gnu/libc-version.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

/* A run directory that this process made, and in which nothing is recorded yet. */
static const struct run *unfinished;
static pid_t maker;

static int remove_one(const char *path, const struct stat *stat, int kind, struct FTW *place)
{
	(void)stat, (void)kind, (void)place;
	remove(path);
	return 0;
}

/* What a command that failed has made is in the way of the next. */
static void remove_unfinished(void)
{
	if (!unfinished || getpid() != maker)
		return;
	if (unfinished->ring)
		ring_remove_if_done(unfinished->ring);
	nftw(unfinished->directory, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static void begin_directory(const struct run *run)
{
	unfinished = run;
	maker = getpid();
	atexit(remove_unfinished);
}

uint64_t now_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_REALTIME, &time);
	return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static bool ends_with(const char *text, const char *end)
{
	size_t length = strlen(text), tail = strlen(end);

	return length > tail && strcmp(text + length - tail, end) == 0;
}

/* Absolute, without slashes at the end, and with the suffix. */
static const char *absolute(const char *name)
{
	char *path = format_text("%s", name);
	size_t length = strlen(path);
	char *working_directory;

	while (length > 1 && path[length - 1] == '/')
		path[--length] = '\0';
	if (!ends_with(path, ".fathom"))
		path = format_text("%s.fathom", path);
	if (*path == '/')
		return path;
	working_directory = getcwd(NULL, 0);
	if (!working_directory)
		fail(EXIT_FATHOM, "cannot name the current directory: %s", strerror(errno));
	return format_text("%s/%s", strcmp(working_directory, "/") ? working_directory : "", path);
}

/* Short and the same on every rank: a Slurm step as it is, of any other job a hash. */
static const char *job_suffix(const struct launcher *launcher)
{
	uint32_t hash = 0x811c9dc5u;

	if (strcmp(launcher->name, "slurm") == 0)
		return launcher->job;
	for (const char *s = launcher->job; *s; s++)
		hash = (hash ^ (unsigned char)*s) * 0x01000193u;
	return format_text("%08x", hash);
}

/* Outside a launcher: the first free number. mkdir decides, so two runs never share one. */
static const char *numbered(const char *program)
{
	for (unsigned number = 1; number < 100000; number++) {
		const char *path = absolute(format_text("%s.%u", program, number));

		if (mkdir(path, 0777) == 0)
			return path;
		if (errno != EEXIST)
			fail(EXIT_FATHOM, "cannot make %s: %s; name another place with -o", path,
			     strerror(errno));
	}
	fail(EXIT_FATHOM, "no free name for a run of %s here; name one with -o", program);
}

/* Decides where the run goes. Inside a launcher every rank must come to the same answer alone. */
void run_name(struct run *run)
{
	const char *outer = getenv("FATHOM_RUN");

	run->id = random_number();
	run->start_ns = now_ns();
	run->job = run->launcher.job;
	if (run->launcher.name[0] && !run->options.output && outer && *outer == '/') {
		run->directory = outer; /* `fathom run -- mpiexec … fathom run …`: one run */
		run->job = NULL;
	} else if (run->launcher.name[0]) {
		if (!run->options.output && !run->job)
			fail(EXIT_FATHOM,
			     "run: this launcher gives no job id that all nodes share; "
			     "name the run with -o NAME");
		run->directory =
			absolute(run->options.output ? run->options.output
						     : format_text("%s.%s", run->program,
								   job_suffix(&run->launcher)));
		if (mkdir(run->directory, 0777) && errno != EEXIST)
			fail(EXIT_FATHOM, "cannot make %s: %s", run->directory, strerror(errno));
	} else if (run->options.output) {
		run->directory = absolute(run->options.output);
		if (mkdir(run->directory, 0777)) {
			if (errno == EEXIST)
				fail(EXIT_FATHOM, "%s exists; name another with -o, or remove it",
				     run->directory);
			fail(EXIT_FATHOM, "cannot make %s: %s", run->directory, strerror(errno));
		}
		begin_directory(run);
	} else {
		run->directory = numbered(run->program);
		begin_directory(run);
	}
	if (!run->launcher.name[0])
		run->job = format_text("%016llx", (unsigned long long)run->id);
}

static bool matters(const char *variable)
{
	static const char *const prefixes[] = {
		"MPICH_",  "MPIR_",    "OMPI_MCA_",  "PMIX_MCA_",     "ROMIO_",
		"HDF5_",   "PNETCDF_", "NETCDF_",    "OMP_",          "LD_",
		"FATHOM_", "TMPDIR=",  "SLURM_JOB_", "SLURM_NNODES=", "SLURM_NTASKS=",
	};

	if (strncmp(variable, "FATHOM_COLLECT=", 15) == 0)
		return false; /* it holds a key */
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(*prefixes); i++)
		if (strncmp(variable, prefixes[i], strlen(prefixes[i])) == 0)
			return true;
	return false;
}

static void json_environment(struct text *out)
{
	const char *comma = "";

	text_add(out, "  \"environment\": {");
	for (char **at = environ; *at; at++) {
		const char *value = strchr(*at, '=');

		if (!value || !matters(*at))
			continue;
		text_add(out, "%s\n    ", comma);
		json_string(out, format_text("%.*s", (int)(value - *at), *at));
		text_add(out, ": ");
		json_string(out, value + 1);
		comma = ",";
	}
	text_add(out, "\n  },\n");
}

static void json_configuration(struct text *out, const struct run *run)
{
	const struct options *options = &run->options;

	text_add(out, "  \"configuration\": {\"layers\": ");
	json_list(out, layer_list(options->recorded, ""), ',');
	text_add(out, ", \"counted\": ");
	json_list(out, layer_list(options->counted, ""), ',');
	text_add(out, ", \"layers_asked\": ");
	json_string(out, options->layers_asked ? options->layers_asked : "");
	text_add(out, ", \"level\": \"%s\", \"budget\": %llu, \"ranks\": ", options->level_name,
		 (unsigned long long)options->budget);
	json_string(out, options->ranks ? options->ranks : "");
	text_add(out, ", \"files\": ");
	json_list(out, options->files, '\n');
	options_json(out, options);
	sink_json(out, &options->sink);
	text_add(out, ", \"ring\": ");
	json_string(out, run->ring);
	text_add(out, ", \"library\": ");
	json_string(out, run->library);
	text_add(out, "},\n");
}

static void json_node(struct text *out)
{
	struct node node;

	node_read(&node);
	text_add(out, "  \"nodes\": [{\"host\": ");
	json_string(out, node.host);
	text_add(out, ", \"boot_id\": ");
	json_string(out, node.boot_id);
	text_add(out, ", \"kernel\": ");
	json_string(out, node.kernel);
	text_add(out, ", \"clock\": ");
	json_string(out, node.clock);
	text_add(out, ", \"tsc_hz\": %llu, \"processors\": ", (unsigned long long)node.tsc_hz);
	json_string(out, node.processors);
	text_add(out, "}],\n  \"versions\": {\"libc\": ");
	json_string(out, gnu_get_libc_version());
	text_add(out, ", \"kernel\": ");
	json_string(out, node.kernel);
	text_add(out, "},\n");
}

/* One line alone, so that another rank can find it without reading JSON. */
static const char *job_line(const char *job)
{
	struct text text = {0};

	text_add(&text, "\n  \"job\": ");
	json_string(&text, job ? job : "");
	text_add(&text, ",\n");
	return text.at;
}

/* run.json as known at the start, without the closing brace. */
static const char *start_json(const struct run *run)
{
	struct text out = {0};
	char *working_directory = getcwd(NULL, 0);

	text_add(&out, "{\n  \"format\": 1,\n  \"id\": \"%016llx\",\n  \"fathom\": \"%s\",%s",
		 (unsigned long long)run->id, FATHOM_VERSION, job_line(run->job));
	text_add(&out, "  \"launcher\": \"%s\",\n  \"program\": ", run->launcher.name);
	json_string(&out, run->program);
	if (run->options.strace)
		text_add(&out, ",\n  \"recorder\": \"strace\"");
	text_add(&out, ",\n  \"command\": [");
	for (char **word = run->options.command; *word; word++) {
		if (word != run->options.command)
			text_add(&out, ", ");
		json_string(&out, *word);
	}
	text_add(&out, "],\n  \"directory\": ");
	json_string(&out, working_directory ? working_directory : "");
	text_add(&out, ",\n  \"user\": %u,\n", (unsigned)getuid());
	json_environment(&out);
	json_configuration(&out, run);
	json_node(&out);
	text_add(&out, "  \"start_ns\": %llu", (unsigned long long)run->start_ns);
	return out.at;
}

/* Another rank wrote run.json: its id is the run's. Or an older job did: then rows of two runs
 * would mix. */
static void join_run(struct run *run, const char *path)
{
	static const char id_key[] = "\"id\": \"";
	size_t size = 0;
	const char *text = read_file(path, &size), *id;

	if (!text)
		fail(EXIT_FATHOM, "cannot read %s: %s", path, strerror(errno));
	id = strstr(text, id_key);
	if (!id)
		fail(EXIT_FATHOM, "%s is not as fathom wrote it; name a new run with -o", path);
	if (run->job && !strstr(text, job_line(run->job)))
		fail(EXIT_FATHOM, "%s holds another run; name a new one with -o, or remove it",
		     run->directory);
	run->id = strtoull(id + strlen(id_key), NULL, 16);
	run->ring = ring_directory(run);
}

void run_create(struct run *run)
{
	char *path = format_text("%s/run.json", run->directory);
	char *text;

	run->ring = ring_directory(run);
	run->start_json = start_json(run);
	text = format_text("%s\n}\n", run->start_json);
	if (!publish(path, text, strlen(text)))
		join_run(run, path);
	node_create(run);
	unfinished = NULL;
}

/* The program ended: the whole file again, made aside and moved over. */
void run_finish(const struct run *run, int wait_status)
{
	char *path = format_text("%s/run.json", run->directory);
	bool killed = WIFSIGNALED(wait_status);
	char *text = format_text("%s,\n  \"end_ns\": %llu,\n  \"pid\": %d,\n"
				 "  \"exit\": {\"%s\": %d}\n}\n",
				 run->start_json, (unsigned long long)now_ns(), (int)run->child,
				 killed ? "signal" : "status",
				 killed ? WTERMSIG(wait_status) : WEXITSTATUS(wait_status));
	const int lock = lock_file(path);

	/* The program has run: whatever fails from here on is said, and changes no exit status. */
	if (!replace_file(path, text))
		warn("cannot complete %s: %s", path, strerror(errno));
	if (lock >= 0)
		close(lock);
}
