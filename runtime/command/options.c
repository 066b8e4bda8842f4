/* Options of `fathom run` and `fathom env`. */
#include "command.h"

#include "../core/layers.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GLOBS = 32768 };
static const char *const level_names[] = {"off", "job", "file", "call"};

static const char run_help[] =
	"usage: fathom run [options] [--] PROGRAM [ARGUMENT...]\n"
	"\n"
	"Runs PROGRAM and records its I/O into a run directory NAME.fathom. The exit status is\n"
	"PROGRAM's; 125 if Fathom failed before the start, 126 / 127 if PROGRAM cannot be run /\n"
	"found. Works before a launcher, and as the launcher's program.\n";

static const char env_help[] =
	"usage: fathom env [options]\n"
	"\n"
	"Makes a run directory and prints the environment that records into it, as shell\n"
	"commands for a batch script.\n";

static const char options_help[] =
	"\n"
	"options:\n"
	"  -o, --output NAME   run directory NAME.fathom (default: from the program and the job)\n"
	"  --layers LIST       layers to record, comma-separated, or +LAYER, -LAYER: besides the\n"
	"                      usual ones, without it. Usual: every I/O layer, and MPI\n"
	"                      communication counted only (mpi:counted). +threads: threads, locks\n"
	"  --level LEVEL       off, job, file or call: how fine to record (default: call)\n"
	"  --budget SIZE       most bytes of stream per process, as 64MiB, 1G (default: 64MiB)\n"
	"  --ranks LIST        ranks to record, as 0, 0-63, 0-63:8, comma-separated (default: "
	"all)\n"
	"  --files GLOB        record only these files; !GLOB leaves files out; repeatable, the\n"
	"                      last match counts\n"
	"  --select FILE       what to record, and how finely, as a file says\n"
	"                      (docs/selection.md), in place of the four options above;\n"
	"                      critical: only who holds the others up, at the moment, in full\n"
	"  --tuned FILE        set these hints, HDF5 properties, variables, layouts in the "
	"program\n"
	"                      (docs/settings.md; H5Tuner's XML too)\n"
	"  --tunable           hints of files that are opened later may be changed while it runs:\n"
	"                      fathom tune --live\n"
	"  --mmap dirty        tell which pages of mapped files are written (Linux 6.7)\n"
	"  --probes FILE       record the functions of your own catalogue too "
	"(docs/catalogue.md);\n"
	"                      repeatable (default: those in FATHOM_PROBES, colon-separated)\n"
	"  --agent             one agent per node: samples of processors, memory, network, disks\n"
	"                      and Lustre each second; saves at once what killed processes leave\n"
	"  --sample SECONDS    the same with another interval; 0: no samples\n"
	"  --ceph[=DIR]        the agent asks Ceph's storage daemons (OSDs) on this node what "
	"they\n"
	"                      did, by their admin sockets in DIR (default: /var/run/ceph)\n"
	"  --collect HOST:PORT/KEY\n"
	"                      the agent sends the node's streams to `fathom collect` there\n"
	"  --trace-sink forward[=WORDS]\n"
	"                      the agent ships the node's streams through forwarding servers into\n"
	"                      few shared files (docs/trace-sink.md); WORDS, comma-separated:\n"
	"                      flush=full|step|end, size=SIZE, mark=SIZE, nonblocking, plain\n";

static const char run_options_help[] =
	"  --forward[=N]       I/O below the current directory goes through N forwarding servers\n"
	"                      (default: 1) on this machine, started for PROGRAM and recorded\n"
	"  --forward-path DIR  the same of another directory\n"
	"  --forward-storage DIR\n"
	"                      each server keeps stripes of the files in a directory of its own "
	"below\n"
	"                      DIR; after the program they are copied to where they belong\n";

static const char run_strace_help[] =
	"  --strace            record by strace, slower and system calls only: for static "
	"programs,\n"
	"                      Go, and others that no library can be brought into\n";

static const char run_examples[] =
	"  --no-show           no summary on stderr at the end\n"
	"  -h, --help          this text\n"
	"\n"
	"examples:\n"
	"  fathom run -- mpiexec -n 4 ./s3d 200 200 200\n"
	"  mpiexec -n 4 fathom run -o s3d -- ./s3d 200 200 200\n"
	"  fathom run --layers +mpi,-stdio -- mpiexec -n 4 ./a.out\n"
	"  fathom run --layers mpiio,posix --files '/scratch/*' --files '!*.log' -- ./a.out\n"
	"  mpiexec -n 4 fathom run --select restart.toml -- ./s3d 200 200 200\n"
	"  srun fathom run --ranks 0-1023:64 --level file -- ./flash\n";

static const char env_examples[] =
	"  --join              one of the commands that a launcher started, one on each node: all "
	"of\n"
	"                      them get one run (default: a run of its own)\n"
	"  --shell SHELL       for sh (bash, zsh, ksh too), csh (tcsh), fish, or json (default: "
	"sh)\n"
	"  -h, --help          this text\n"
	"\n"
	"examples:\n"
	"  eval \"$(fathom env -o s3d)\"                    # sh, bash, zsh, ksh\n"
	"  eval \"`fathom env -o s3d --shell csh`\"         # csh, tcsh\n"
	"  fathom env -o s3d --shell fish | source         # fish\n"
	"  srun ./s3d 200 200 200\n";

char *layer_list(uint32_t layers, const char *suffix)
{
	char *list = format_text("%s", "");

	for (int i = 0; i < LAYERS; i++)
		if (layers >> i & 1)
			list = format_text("%s%s%s%s", list, *list ? "," : "", layer_names[i],
					   suffix);
	return list;
}

static uint32_t layer_bit(const char *name)
{
	for (int i = 0; i < LAYERS; i++)
		if (strcmp(name, layer_names[i]) == 0)
			return 1u << i;
	fail(EXIT_FATHOM,
	     "--layers: no layer '%s'; there are posix, mpiio, hdf5 and others (fathom probes "
	     "lists "
	     "them)",
	     name);
}

/* One word of the list: NAME, +NAME, -NAME, each layer also as NAME:counted. */
static void parse_layer(struct options *options, char *word)
{
	const bool off = *word == '-';
	char *name = word + (off || *word == '+');
	char *colon = strchr(name, ':');
	const bool counted = colon && strcmp(colon, LAYER_COUNTED) == 0;
	uint32_t bit;

	if (counted)
		*colon = '\0';
	bit = layer_bit(name);
	options->recorded &= ~bit;
	options->counted &= ~bit;
	if (!off)
		*(counted ? &options->counted : &options->recorded) |= bit;
}

/* A list that begins with + or - changes the usual one. */
static void parse_layers(struct options *options, const char *list)
{
	char *rest = format_text("%s", list);
	char *word;

	if (*list != '+' && *list != '-')
		options->recorded = options->counted = 0;
	while ((word = strsep(&rest, ",")))
		parse_layer(options, word);
}

static void parse_level(struct options *options, const char *name)
{
	for (unsigned i = 0; i < sizeof(level_names) / sizeof(*level_names); i++) {
		if (strcmp(name, level_names[i]) == 0) {
			options->level = i;
			options->level_name = level_names[i];
			return;
		}
	}
	fail(EXIT_FATHOM, "--level: '%s' is none of off, job, file, call", name);
}

/* 67108864, 64M, 64MiB, 64MB: all binary but MB, GB… with a B and no i, which are decimal. */
uint64_t parse_size(const char *option, const char *word)
{
	static const char units[] = "kmgt";
	char *end;
	double number = strtod(word, &end);
	const char *unit = *end ? strchr(units, tolower((unsigned char)*end)) : NULL;
	double scale = 1;

	if (unit) {
		bool decimal = tolower((unsigned char)end[1]) == 'b';

		for (const char *u = units; u <= unit; u++)
			scale *= decimal ? 1000 : 1024;
		end++;
		if (*end == 'i')
			end++;
	}
	if (tolower((unsigned char)*end) == 'b')
		end++;
	if (end == word || *end || !isdigit((unsigned char)*word) || number * scale > 1e18)
		fail(EXIT_FATHOM, "%s: '%s' is no size; write 67108864, 64MiB or 1G", option, word);
	return (uint64_t)(number * scale);
}

/* Reads digits at *at; false: there are none. */
static bool parse_number(const char **at, unsigned long *number)
{
	char *end;

	if (!isdigit((unsigned char)**at))
		return false;
	errno = 0;
	*number = strtoul(*at, &end, 10);
	*at = end;
	return errno == 0 && *number < UINT32_MAX;
}

static bool rank_list_good(const char *list)
{
	for (const char *at = list;; at++) {
		unsigned long first, last, step = 1;

		if (!parse_number(&at, &first))
			return false;
		last = first;
		if (*at == '-' && (at++, !parse_number(&at, &last)))
			return false;
		if (*at == ':' && (at++, !parse_number(&at, &step)))
			return false;
		if (last < first || step == 0)
			return false;
		if (*at != ',')
			return *at == '\0';
	}
}

static void add_glob(struct options *options, const char *glob)
{
	const size_t before = options->files ? strlen(options->files) : 0;

	if (before + strlen(glob) > GLOBS)
		fail(EXIT_FATHOM, "--files: more than %d bytes of globs", GLOBS);
	if (strchr(glob, '\n') || !*glob)
		fail(EXIT_FATHOM, "--files: a glob is not empty and has no line end");
	options->files = options->files ? format_text("%s\n%s", options->files, glob) : glob;
}

static void add_probes(struct options *options, const char *file)
{
	char *path = realpath(file, NULL);

	if (!path)
		fail(EXIT_FATHOM, "--probes: %s: %s", file, strerror(errno));
	if (strchr(path, ':'))
		fail(EXIT_FATHOM, "--probes: %s: a path with a colon cannot be passed on", path);
	options->probes = options->probes ? format_text("%s:%s", options->probes, path) : path;
}

/* Those of the environment, unless the command line names some; the layer that they are in is on. */
static void finish_probes(struct options *options)
{
	char *given = getenv("FATHOM_PROBES"), *file;

	given = !options->probes && given && *given ? format_text("%s", given) : NULL;
	while (given && (file = strsep(&given, ":")))
		add_probes(options, file);
	if (options->probes && !(options->counted & 1 << LAYER_USER))
		options->recorded |= 1 << LAYER_USER;
}

static const char *parse_interval(const char *word)
{
	char *end;
	double seconds = strtod(word, &end);

	if (end == word || *end || !(seconds == 0 || (seconds >= 0.001 && seconds <= 86400)))
		fail(EXIT_FATHOM,
		     "--sample: '%s' is no interval; write seconds from 0.001 to 86400, or 0",
		     word);
	return format_text("%.9g", seconds);
}

static const char *parse_collector(const char *word)
{
	const char *slash = strchr(word, '/'),
		   *colon = slash ? memrchr(word, ':', slash - word) : NULL;

	if (!colon || colon == word || colon + 1 == slash || !slash[1])
		fail(EXIT_FATHOM,
		     "--collect: '%s' is not HOST:PORT/KEY, as fathom collect prints it", word);
	return word;
}

/* A file says all of it, or the options do. */
static void check_select(const struct options *options, bool level)
{
	const char *beside = level                   ? "--level"
			     : options->layers_asked ? "--layers"
			     : options->files        ? "--files"
			     : options->ranks        ? "--ranks"
						     : NULL;

	if ((options->tuned || options->tunable) && options->ranks)
		fail(EXIT_FATHOM,
		     "%s: settings hold on all ranks; leave --ranks out, a "
		     "selection file may name ranks (--select)",
		     options->tuned ? "--tuned" : "--tunable");
	if (options->select && beside)
		fail(EXIT_FATHOM, "--select: %s is set in the file; leave %s out", beside, beside);
}

static void help(bool run)
{
	fputs(run ? run_help : env_help, stdout);
	fputs(options_help, stdout);
	fputs(run ? run_options_help : "", stdout);
	fputs(run ? run_strace_help : "", stdout);
	fputs(run ? run_examples : env_examples, stdout);
	exit(0);
}

enum {
	OPTION_LAYERS = 256,
	OPTION_LEVEL,
	OPTION_BUDGET,
	OPTION_RANKS,
	OPTION_FILES,
	OPTION_SELECT,
	OPTION_TUNED,
	OPTION_TUNABLE,
	OPTION_MMAP,
	OPTION_PROBES,
	OPTION_AGENT,
	OPTION_SAMPLE,
	OPTION_CEPH,
	OPTION_COLLECT,
	OPTION_STRACE,
	OPTION_NO_SHOW,
	OPTION_SHELL,
	OPTION_JOIN,
	OPTION_FORWARD,
	OPTION_FORWARD_PATH,
	OPTION_FORWARD_STORAGE,
	OPTION_TRACE_SINK
};
static const struct option long_options[] = {
	{"output", required_argument, NULL, 'o'},
	{"layers", required_argument, NULL, OPTION_LAYERS},
	{"level", required_argument, NULL, OPTION_LEVEL},
	{"budget", required_argument, NULL, OPTION_BUDGET},
	{"ranks", required_argument, NULL, OPTION_RANKS},
	{"files", required_argument, NULL, OPTION_FILES},
	{"probes", required_argument, NULL, OPTION_PROBES},
	{"select", required_argument, NULL, OPTION_SELECT},
	{"tuned", required_argument, NULL, OPTION_TUNED},
	{"tunable", no_argument, NULL, OPTION_TUNABLE},
	{"mmap", required_argument, NULL, OPTION_MMAP},
	{"agent", no_argument, NULL, OPTION_AGENT},
	{"sample", required_argument, NULL, OPTION_SAMPLE},
	{"ceph", optional_argument, NULL, OPTION_CEPH},
	{"collect", required_argument, NULL, OPTION_COLLECT},
	{"strace", no_argument, NULL, OPTION_STRACE},
	{"no-show", no_argument, NULL, OPTION_NO_SHOW},
	{"shell", required_argument, NULL, OPTION_SHELL},
	{"join", no_argument, NULL, OPTION_JOIN},
	{"forward", optional_argument, NULL, OPTION_FORWARD},
	{"forward-path", required_argument, NULL, OPTION_FORWARD_PATH},
	{"forward-storage", required_argument, NULL, OPTION_FORWARD_STORAGE},
	{"trace-sink", required_argument, NULL, OPTION_TRACE_SINK},
	{"help", no_argument, NULL, 'h'},
	{NULL, 0, NULL, 0},
};

static void take_forward(struct options *options, int option, const char *value)
{
	const char *at = value ? value : "1";
	unsigned long servers = 0;

	if (option != OPTION_FORWARD) {
		bool path = option == OPTION_FORWARD_PATH;
		const char **place = path ? &options->forward_path : &options->forward_storage;

		*place = realpath(value, NULL);
		if (!*place)
			fail(EXIT_FATHOM, "--forward-%s: %s: %s", path ? "path" : "storage", value,
			     strerror(errno));
		if (!options->servers)
			options->servers = 1;
		return;
	}
	if (!parse_number(&at, &servers) || *at || servers < 1 || servers > 1024)
		fail(EXIT_FATHOM, "--forward: '%s' is no number of servers; write 1 to 1024",
		     value);
	options->servers = (unsigned)servers;
}

/* The directory, absolute, where an OSD's socket is in it or in one below. */
static const char *admin_sockets(const char *directory)
{
	const char *whole = realpath(directory, NULL);
	const char *places[] = {"", "/*"};

	for (size_t i = 0; whole && i < sizeof(places) / sizeof(*places); i++) {
		glob_t sockets;
		int status =
			glob(format_text("%s%s/*osd.*.asok", whole, places[i]), 0, NULL, &sockets);

		globfree(&sockets);
		if (status == 0)
			return whole;
	}
	fail(EXIT_FATHOM,
	     "--ceph: %s: no admin socket of an OSD is there (osd.N.asok); on which node do the "
	     "OSDs "
	     "run?",
	     directory);
}

static void take(struct options *options, int option, const char *value, bool run)
{
	switch (option) {
	case 'o':
		if (!*value)
			fail(EXIT_FATHOM, "-o: the name is empty");
		options->output = value;
		break;
	case OPTION_LAYERS:
		parse_layers(options, value);
		options->layers_asked = value;
		break;
	case OPTION_LEVEL:
		parse_level(options, value);
		break;
	case OPTION_BUDGET:
		options->budget = parse_size("--budget", value);
		break;
	case OPTION_RANKS:
		if (!rank_list_good(value))
			fail(EXIT_FATHOM,
			     "--ranks: '%s' is no list of ranks; write 0, 0-63 or 0-63:8", value);
		options->ranks = value;
		break;
	case OPTION_FILES:
		add_glob(options, value);
		break;
	case OPTION_SELECT:
		options->select = value;
		break;
	case OPTION_TUNED:
		options->tuned = value;
		break;
	case OPTION_TUNABLE:
		options->tunable = true;
		break;
	case OPTION_PROBES:
		add_probes(options, value);
		break;
	case OPTION_MMAP:
		if (strcmp(value, "dirty"))
			fail(EXIT_FATHOM, "--mmap: '%s' is not known; write dirty, or leave it out",
			     value);
		options->mmap = value;
		break;
	case OPTION_AGENT:
		options->sample = options->sample ? options->sample : "1";
		break;
	case OPTION_SAMPLE:
		options->sample = parse_interval(value);
		break;
	case OPTION_CEPH:
		options->ceph = admin_sockets(value ? value : "/var/run/ceph");
		options->sample = options->sample ? options->sample : "1";
		break;
	case OPTION_COLLECT:
		options->collect = parse_collector(value);
		break;
	case OPTION_STRACE:
		if (!run)
			fail(EXIT_FATHOM, "env: --strace is an option of fathom run");
		options->strace = true;
		break;
	case OPTION_NO_SHOW:
		options->show = false;
		break;
	case OPTION_SHELL:
		if (run)
			fail(EXIT_FATHOM, "run: --shell is an option of fathom env");
		options->shell = value;
		break;
	case OPTION_JOIN:
		if (run)
			fail(EXIT_FATHOM, "run: --join is an option of fathom env; behind a "
					  "launcher fathom run does it always");
		options->join = true;
		break;
	case OPTION_FORWARD:
	case OPTION_FORWARD_PATH:
	case OPTION_FORWARD_STORAGE:
		if (!run)
			fail(EXIT_FATHOM, "env: --forward is an option of fathom run; "
					  "fathom forward up starts servers for a script");
		take_forward(options, option, value);
		break;
	case OPTION_TRACE_SINK:
		sink_parse(options, value);
		break;
	case 'h':
		help(run);
	}
}

static void refuse(const char *command, const char *word)
{
	const char letter[] = {'-', (char)optopt, '\0'};

	fail(EXIT_FATHOM, "%s: no option '%s'; fathom %s --help lists them", command,
	     optopt > 0 && optopt < 128 ? letter : word, command);
}

/* argv[0] is the command's name, `run` or `env`. */
void options_parse(struct options *options, bool with_command, int argc, char **argv)
{
	const char *collector = getenv("FATHOM_COLLECT");
	bool level = false;
	int option;

	*options = (struct options){.budget = 64 << 20, .show = true, .shell = "sh"};
	parse_layers(options, LAYERS_DEFAULT);
	parse_level(options, "call");
	opterr = 0;
	while ((option = getopt_long(argc, argv, "+:o:h", long_options, NULL)) != -1) {
		if (option == ':')
			fail(EXIT_FATHOM, "%s %s: this option needs a value", argv[0],
			     argv[optind - 1]);
		if (option == '?')
			refuse(argv[0], argv[optind - 1]);
		take(options, option, optarg, with_command);
		level |= option == OPTION_LEVEL;
	}
	check_select(options, level);
	finish_probes(options);
	if (!options->collect && collector && *collector)
		options->collect = parse_collector(collector);
	if ((options->collect || options->sink.on) && !options->sample)
		options->sample = "0";
	sink_check(options);
	environment_check(options);
	options->command = argv + optind;
	if (with_command && !*options->command)
		fail(EXIT_FATHOM,
		     "run: which program? fathom run [options] -- PROGRAM [ARGUMENT...]");
	if (!with_command && *options->command)
		fail(EXIT_FATHOM, "env: takes no program, '%s' given; fathom run starts one",
		     *options->command);
}
