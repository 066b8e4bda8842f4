/* Options of `fathom run` and `fathom env`. */
#include "command.h"

#include "../core/layers.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <glob.h>
#include <stddef.h>
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

static const char run_examples[] =
	"\n"
	"examples:\n"
	"  fathom run -- mpiexec -n 4 ./s3d 200 200 200\n"
	"  mpiexec -n 4 fathom run -o s3d -- ./s3d 200 200 200\n"
	"  fathom run --layers +mpi,-stdio -- mpiexec -n 4 ./a.out\n"
	"  fathom run --layers mpiio,posix --files '/scratch/*' --files '!*.log' -- ./a.out\n"
	"  mpiexec -n 4 fathom run --select restart.toml -- ./s3d 200 200 200\n"
	"  srun fathom run --ranks 0-1023:64 --level file -- ./flash\n";

static const char env_examples[] =
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
	     "--layers: no layer '%s'; %sthere are posix, mpiio, hdf5 and others: fathom list "
	     "probes lists them",
	     name, nearest_text(name, layer_names, LAYERS));
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
	const unsigned count = sizeof(level_names) / sizeof(*level_names);

	for (unsigned i = 0; i < count; i++) {
		if (strcmp(name, level_names[i]) == 0) {
			options->level = i;
			options->level_name = level_names[i];
			return;
		}
	}
	fail(EXIT_FATHOM, "--level: '%s' is no level; %sthere are off, job, file, call", name,
	     nearest_text(name, level_names, count));
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

/* A line more of a list. */
static const char *with_line(const char *list, const char *line)
{
	return list ? format_text("%s\n%s", list, line) : line;
}

static void add_glob(struct options *options, const char *glob)
{
	const size_t before = options->files ? strlen(options->files) : 0;

	if (before + strlen(glob) > GLOBS)
		fail(EXIT_FATHOM, "--files: more than %d bytes of globs", GLOBS);
	if (strchr(glob, '\n') || !*glob)
		fail(EXIT_FATHOM, "--files: a glob is not empty and has no line end");
	options->files = with_line(options->files, glob);
}

static void add_region(struct options *options, const char *word)
{
	const char *is = strchr(word, '='), *colon = strrchr(word, ':');

	if (!is || is == word || !colon || colon < is + 2 || !colon[1] || strchr(word, '\n'))
		fail(EXIT_FATHOM,
		     "--regions: '%s' is not NAME=FILE:FUNCTION, as epoch=train.py:run_epoch",
		     word);
	options->regions = with_line(options->regions, word);
	if (!(options->counted & 1 << LAYER_USER))
		options->recorded |= 1 << LAYER_USER;
}

static void add_skipped(struct options *options, const char *name)
{
	if (strchr(name, '\n') || !*name)
		fail(EXIT_FATHOM, "--skip: a name is not empty and has no line end");
	options->skip = with_line(options->skip, name);
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
		     "--collect: '%s' is not HOST:PORT/KEY, as fathom pack --collect prints it",
		     word);
	return word;
}

/* A file says all of it, or the options do. */
static void check_select(const struct options *options)
{
	const char *beside = options->level_asked    ? "--level"
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

/* ---- what each option does ---- */

static void take_output(struct options *options, const char *value)
{
	if (!*value)
		fail(EXIT_FATHOM, "-o: the name is empty");
	options->output = value;
}

static void take_layers(struct options *options, const char *value)
{
	parse_layers(options, value);
	options->layers_asked = value;
}

static void take_level(struct options *options, const char *value)
{
	parse_level(options, value);
	options->level_asked = true;
}

static void take_budget(struct options *options, const char *value)
{
	options->budget = parse_size("--budget", value);
}

static void take_ranks(struct options *options, const char *value)
{
	if (!rank_list_good(value))
		fail(EXIT_FATHOM, "--ranks: '%s' is no list of ranks; write 0, 0-63 or 0-63:8",
		     value);
	options->ranks = value;
}

static void take_mmap(struct options *options, const char *value)
{
	if (strcmp(value, "dirty"))
		fail(EXIT_FATHOM, "--mmap: '%s' is not known; write dirty, or leave it out", value);
	options->mmap = value;
}

static void take_keep(struct options *options, const char *value)
{
	/* A copy: the watcher takes the words of the command line for its name. */
	options->keep_calls_if = format_text("%s", value);
}

static void take_agent(struct options *options, const char *value)
{
	(void)value;
	options->sample = options->sample ? options->sample : "1";
}

static void take_sample(struct options *options, const char *value)
{
	options->sample = parse_interval(value);
}

static void take_ceph(struct options *options, const char *value)
{
	options->ceph = admin_sockets(value ? value : "/var/run/ceph");
	take_agent(options, NULL);
}

static void take_kernel(struct options *options, const char *value)
{
	if (value && strcmp(value, "calls"))
		fail(EXIT_FATHOM, "--kernel=%s: calls, or nothing", value);
	options->kernel = true;
	options->kernel_calls |= value != NULL;
}

static void take_collect(struct options *options, const char *value)
{
	options->collect = parse_collector(value);
}

static void take_forward(struct options *options, const char *value)
{
	const char *at = value ? value : "1";
	unsigned long servers = 0;

	if (!parse_number(&at, &servers) || *at || servers < 1 || servers > 1024)
		fail(EXIT_FATHOM, "--forward: '%s' is no number of servers; write 1 to 1024",
		     value);
	options->servers = (unsigned)servers;
}

/* A directory of servers: there is one at least. */
static const char *served(struct options *options, const char *option, const char *value)
{
	const char *place = realpath(value, NULL);

	if (!place)
		fail(EXIT_FATHOM, "%s: %s: %s", option, value, strerror(errno));
	if (!options->servers)
		options->servers = 1;
	return place;
}

static void take_forward_path(struct options *options, const char *value)
{
	options->forward_path = served(options, "--forward-path", value);
}

static void take_forward_storage(struct options *options, const char *value)
{
	options->forward_storage = served(options, "--forward-storage", value);
}

enum command { BOTH, RUN, ENV };
enum form { PLAIN, LINES, PATHS, NUMBER, FILE_TEXT };

struct option_row {
	const char *name, *value, *help;
	void (*take)(struct options *options, const char *value);
	size_t text, flag; /* where its field is; 0: it has none */
	enum command of;
	char letter;
	const char *instead; /* what the other command has */
	const char *
		json; /* its key in run.json's configuration, if it was given; NULL: it is not there, or always */
	enum form
		form; /* of a text there: as it is, a list of lines or of paths, a number, the file's text */
	const char *
		variable; /* that the program gets: the text, or 1; NULL: none, or another's part */
};

static const struct option_row rows[] = {
#define TEXT(field, ...) {__VA_ARGS__, .text = offsetof(struct options, field) + 1},
#define FLAG(field, ...) {__VA_ARGS__, .flag = offsetof(struct options, field) + 1},
#define TAKEN(...)       {__VA_ARGS__},
#include "option_rows.h"
#undef TEXT
#undef FLAG
#undef TAKEN
};
enum { ROWS = sizeof(rows) / sizeof(*rows), FIRST = 256, INDENT = 22, WIDTH = 88 };

/* Words of a text from column INDENT on, no line longer than WIDTH. */
static void print_wrapped(const char *text)
{
	size_t column = INDENT;

	while (*text) {
		size_t length = strcspn(text, " ");

		if (column > INDENT && column + 1 + length > WIDTH) {
			printf("\n%*s", INDENT, "");
			column = INDENT;
		} else if (column > INDENT) {
			column += (size_t)printf(" ");
		}
		column += (size_t)printf("%.*s", (int)length, text);
		text += length + (text[length] == ' ');
	}
	puts("");
}

static void print_row(size_t i)
{
	const char *value = rows[i].value ? rows[i].value : "";
	const char *letter = rows[i].letter ? format_text("-%c, ", rows[i].letter) : "";
	const char *between = *value && *value != '[' ? " " : "";
	int width = printf("  %s--%s%s%s", letter, rows[i].name, between, value);

	if (width >= INDENT) {
		puts("");
		width = 0;
	}
	printf("%*s", INDENT - width, "");
	print_wrapped(rows[i].help);
}

static void help(enum command command)
{
	fputs(command == RUN ? run_help : env_help, stdout);
	puts("\noptions:");
	for (size_t i = 0; i < ROWS; i++)
		if (rows[i].of == BOTH || rows[i].of == command)
			print_row(i);
	fputs(command == RUN ? run_examples : env_examples, stdout);
	exit(0);
}

/* The rows as getopt_long has them; row i is FIRST + i. */
static const struct option *long_options(void)
{
	static struct option options[ROWS + 1];

	for (int i = 0; i < ROWS; i++) {
		int argument = !rows[i].value          ? no_argument
			       : *rows[i].value == '[' ? optional_argument
						       : required_argument;

		options[i] = (struct option){rows[i].name, argument, NULL, FIRST + i};
	}
	return options;
}

static size_t row_of(int option)
{
	size_t i = 0;

	if (option >= FIRST)
		return (size_t)(option - FIRST);
	while (rows[i].letter != option)
		i++;
	return i;
}

static void take(struct options *options, size_t i, const char *value, enum command command)
{
	if (rows[i].of != BOTH && rows[i].of != command)
		fail(EXIT_FATHOM, "%s: --%s is an option of fathom %s%s",
		     command == RUN ? "run" : "env", rows[i].name, command == RUN ? "env" : "run",
		     rows[i].instead ? rows[i].instead : "");
	if (rows[i].take)
		rows[i].take(options, value);
	else if (rows[i].text)
		*(const char **)((char *)options + rows[i].text - 1) = value;
	else if (rows[i].flag)
		*(bool *)((char *)options + rows[i].flag - 1) = true;
	else
		help(command);
}

/* The long options that are most like this word. */
static const char *nearest_option(const char *word)
{
	const char *names[ROWS];
	const char *name = word + strspn(word, "-");

	for (size_t i = 0; i < ROWS; i++)
		names[i] = format_text("--%s", rows[i].name);
	return nearest_text(format_text("--%.*s", (int)strcspn(name, "="), name), names, ROWS);
}

static void refuse(const char *command, const char *word)
{
	const char letter[] = {'-', (char)optopt, '\0'};
	const bool short_one = optopt > 0 && optopt < 128;

	if (optopt >= FIRST)
		fail(EXIT_FATHOM, "%s: --%s takes no value; leave '%s' out", command,
		     rows[optopt - FIRST].name, strchrnul(word, '='));
	fail(EXIT_FATHOM, "%s: no option '%s'; %sfathom %s --help lists them", command,
	     short_one ? letter : word, nearest_option(word), command);
}

/* argv[0] is the command's name, `run` or `env`. */
void options_parse(struct options *options, bool with_command, int argc, char **argv)
{
	const char *collector = getenv("FATHOM_COLLECT"), *keep = getenv("FATHOM_KEEP_CALLS_IF");
	const enum command command = with_command ? RUN : ENV;
	int option;

	*options = (struct options){.budget = 64 << 20, .shell = "sh"};
	parse_layers(options, LAYERS_DEFAULT);
	parse_level(options, "call");
	opterr = 0;
	while ((option = getopt_long(argc, argv, "+:o:h", long_options(), NULL)) != -1) {
		if (option == ':')
			fail(EXIT_FATHOM, "%s %s: this option needs a value", argv[0],
			     argv[optind - 1]);
		if (option == '?')
			refuse(argv[0], argv[optind - 1]);
		take(options, row_of(option), optarg, command);
	}
	check_select(options);
	finish_probes(options);
	if (!options->collect && collector && *collector)
		options->collect = parse_collector(collector);
	if (with_command && !options->keep_calls_if && keep && *keep)
		options->keep_calls_if = keep;
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

/* What was given of row i; NULL: nothing. A flag's is "1". */
static const char *value_of(const struct options *options, size_t i)
{
	const char *at = (const char *)options;

	if (rows[i].text)
		return *(const char *const *)(at + rows[i].text - 1);
	return rows[i].flag && *(const bool *)(at + rows[i].flag - 1) ? "1" : NULL;
}

/* As the user wrote it. */
static const char *file_text(const char *option, const char *path)
{
	size_t size = 0;
	const char *text = selection_is_word(path) ? path : read_file(path, &size);

	if (!text)
		fail(EXIT_FATHOM, "--%s: %s: %s", option, path, strerror(errno));
	return text;
}

static void value_json(struct text *out, const struct option_row *row, const char *value)
{
	if (row->form == LINES || row->form == PATHS)
		json_list(out, value, row->form == LINES ? '\n' : ':');
	else if (row->form == NUMBER || row->flag)
		text_add(out, "%s", row->flag ? "true" : value);
	else
		json_string(out, row->form == FILE_TEXT ? file_text(row->name, value) : value);
}

void options_json(struct text *out, const struct options *options)
{
	for (size_t i = 0; i < ROWS; i++) {
		const char *value = value_of(options, i);

		if (!rows[i].json || !value)
			continue;
		text_add(out, ", \"%s\": ", rows[i].json);
		value_json(out, &rows[i], value);
	}
}

void options_variables(const struct options *options,
		       void (*use)(const char *name, const char *value))
{
	for (size_t i = 0; i < ROWS; i++)
		if (rows[i].variable)
			use(rows[i].variable, value_of(options, i));
}
