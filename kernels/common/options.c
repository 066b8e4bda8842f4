#include "kernel.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char usage[] = "[-m collective|independent|nonblocking|nonblocking-independent] [-r] "
			    "[-a DIRECTORY] [-H KEY=VALUE]...";
static const char serial_usage[] = "-n RANKS";

bool number(uint64_t *out, const char *text, uint64_t least)
{
	char *end;

	errno = 0;
	unsigned long long value = strtoull(text, &end, 10);
	if (errno || end == text || *end || *text == '-' || value < least || value > 1ull << 40)
		return false;
	*out = value;
	return true;
}

const char *grid(uint64_t *out, char **argument, unsigned parts, int ranks)
{
	uint64_t product = 1;

	for (unsigned i = 0; i < parts; i++) {
		if (!number(&out[i], argument[i], 1))
			return "the processes: not a number";
		product *= out[i];
	}
	return product == (uint64_t)ranks
		       ? NULL
		       : "the product of the processes is not the number of ranks";
}

void grid_place(uint64_t *place, int rank, const uint64_t *grid, unsigned parts)
{
	uint64_t rest = (uint64_t)rank;

	for (unsigned i = 0; i < parts; i++) {
		place[i] = rest % grid[i];
		rest /= grid[i];
	}
}

static const char *mode(struct options *o, const char *text)
{
	static const char *const names[] = {"collective", "independent", "nonblocking",
					    "nonblocking-independent"};

	for (unsigned i = 0; i < 4; i++)
		if (!strcmp(text, names[i])) {
			o->independent = i & 1;
			o->nonblocking = i & 2;
			return NULL;
		}
	return "-m: no such mode";
}

static const char *hint(struct options *o, const char *text)
{
	const char *equals = strchr(text, '=');

	if (o->hints == HINTS || !equals || equals == text)
		return "-H: not KEY=VALUE";
	size_t key = (size_t)(equals - text);
	size_t value = strlen(equals + 1);
	if (key >= sizeof(o->hint[0].key) || value == 0 || value >= sizeof(o->hint[0].value))
		return "-H: not KEY=VALUE";
	memcpy(o->hint[o->hints].key, text, key);
	memcpy(o->hint[o->hints].value, equals + 1, value);
	o->hints++;
	return NULL;
}

static const char *option(struct options *o, int letter, const char *value)
{
	uint64_t ranks;

	switch (letter) {
	case 'm':
		return mode(o, value);
	case 'r':
		o->check = true;
		return NULL;
	case 'a':
		o->account = value;
		return NULL;
	case 'H':
		return hint(o, value);
	case 'n':
		if (!number(&ranks, value, 1) || ranks > 1u << 20)
			return "-n: not a number of ranks";
		o->ranks = (int)ranks;
		return NULL;
	case '?':
		return "unknown option, or one without its value";
	}
	return kernel.option(letter, value);
}

bool options_read(struct options *o, int argc, char **argv, int ranks, bool complain)
{
	char letters[64];
	const char *wrong = NULL;
	int letter;

	memset(o, 0, sizeof(*o));
	o->independent = kernel.independent;
	o->ranks = ranks ? ranks : 1;
	snprintf(letters, sizeof(letters), "+%s%s", ranks ? "m:ra:H:" : "n:", kernel.letters);
	opterr = 0;
	while (!wrong && (letter = getopt(argc, argv, letters)) != -1)
		wrong = option(o, letter, optarg);
	if (!wrong && argc - optind != (int)kernel.arguments + 1)
		wrong = "too few or too many arguments";
	if (!wrong)
		wrong = kernel.take(argv + optind, o->ranks);
	if (wrong && complain)
		fprintf(stderr, "%s: %s\nusage: %s %s %s DIRECTORY\n", argv[0], wrong, argv[0],
			ranks ? usage : serial_usage, kernel.usage);
	o->directory = argv[argc - 1];
	return !wrong;
}
