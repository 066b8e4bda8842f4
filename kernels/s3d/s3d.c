#include "s3d.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const struct s3d_variable s3d_variables[S3D_VARIABLES] = {
	{"yspecies", 11},
	{"u", 3},
	{"pressure", 1},
	{"temp", 1},
};

static const char usage[] = "[-m collective|independent] [-c CHECKPOINTS] [-r] [-H KEY=VALUE]... "
			    "NX NY NZ NPX NPY NPZ DIRECTORY";

static bool number(size_t *out, const char *text)
{
	char *end;

	errno = 0;
	unsigned long long value = strtoull(text, &end, 10);
	if (errno || end == text || *end || *text == '-' || value == 0 || value > 1000000)
		return false;
	*out = value;
	return true;
}

static bool hint(struct s3d_options *o, const char *text)
{
	const char *equals = strchr(text, '=');

	if (o->hints == S3D_HINTS || !equals || equals == text)
		return false;
	size_t key = (size_t)(equals - text);
	size_t value = strlen(equals + 1);
	if (key >= sizeof(o->hint[0].key) || value == 0 || value >= sizeof(o->hint[0].value))
		return false;
	memcpy(o->hint[o->hints].key, text, key);
	memcpy(o->hint[o->hints].value, equals + 1, value);
	o->hints++;
	return true;
}

static const char *option(struct s3d_options *o, int letter, const char *text)
{
	size_t value;

	switch (letter) {
	case 'm':
		if (strcmp(text, "collective") && strcmp(text, "independent"))
			return "-m: neither collective nor independent";
		o->independent = !strcmp(text, "independent");
		return NULL;
	case 'c':
		if (!number(&value, text))
			return "-c: not a number of checkpoints";
		o->checkpoints = (unsigned)value;
		return NULL;
	case 'r':
		o->restart = true;
		return NULL;
	case 'H':
		return hint(o, text) ? NULL : "-H: not KEY=VALUE";
	}
	return "unknown option";
}

static const char *positions(struct s3d_options *o, int argc, char **argv)
{
	if (argc != 7)
		return "seven arguments are needed";
	for (int i = 0; i < 3; i++) {
		if (!number(&o->global[i], argv[i]))
			return "the grid: not a number of points";
		if (!number(&o->ranks[i], argv[3 + i]))
			return "the processes: not a number";
		if (o->global[i] % o->ranks[i])
			return "each number of points must divide by its number of processes";
	}
	o->directory = argv[6];
	return NULL;
}

bool s3d_options(struct s3d_options *o, int argc, char **argv, bool complain)
{
	const char *wrong = NULL;
	int letter;

	memset(o, 0, sizeof(*o));
	o->checkpoints = 5;
	opterr = 0;
	while (!wrong && (letter = getopt(argc, argv, "+m:c:rH:")) != -1)
		wrong = option(o, letter, optarg);
	if (!wrong)
		wrong = positions(o, argc - optind, argv + optind);
	if (wrong && complain)
		fprintf(stderr, "%s: %s\nusage: %s %s\n", argv[0], wrong, argv[0], usage);
	return !wrong;
}

struct s3d_block s3d_block(const struct s3d_options *o, int rank)
{
	struct s3d_block b;
	size_t rest = rank < 0 ? 0 : (size_t)rank;

	for (int i = 0; i < 3; i++) {
		b.count[i] = rank < 0 ? o->global[i] : o->global[i] / o->ranks[i];
		b.start[i] = rest % o->ranks[i] * b.count[i];
		rest /= o->ranks[i];
	}
	return b;
}

size_t s3d_points(const struct s3d_block *b)
{
	return b->count[0] * b->count[1] * b->count[2];
}

uint64_t s3d_first(const struct s3d_options *o, unsigned v)
{
	uint64_t first = 0;

	for (unsigned i = 0; i < v; i++)
		first += s3d_variables[i].components;
	return first * o->global[0] * o->global[1] * o->global[2];
}

/* Exact in a double: an element's place in the file, and which checkpoint it belongs to. */
static double value(uint64_t element, unsigned checkpoint)
{
	return (double)element + (double)(checkpoint % 64) / 64;
}

static uint64_t row(const struct s3d_options *o, const struct s3d_block *b, unsigned v,
		    size_t component, size_t z, size_t y)
{
	uint64_t line = component * o->global[2] + b->start[2] + z;

	line = line * o->global[1] + b->start[1] + y;
	return s3d_first(o, v) + line * o->global[0] + b->start[0];
}

void s3d_fill(double *data, const struct s3d_options *o, const struct s3d_block *b, unsigned v,
	      unsigned checkpoint)
{
	for (size_t c = 0; c < s3d_variables[v].components; c++)
		for (size_t z = 0; z < b->count[2]; z++)
			for (size_t y = 0; y < b->count[1]; y++) {
				uint64_t element = row(o, b, v, c, z, y);
				for (size_t x = 0; x < b->count[0]; x++)
					*data++ = value(element + x, checkpoint);
			}
}

size_t s3d_check(const double *data, const struct s3d_options *o, const struct s3d_block *b,
		 unsigned v, unsigned checkpoint, char *what, size_t size)
{
	size_t wrong = 0;

	for (size_t c = 0; c < s3d_variables[v].components; c++)
		for (size_t z = 0; z < b->count[2]; z++)
			for (size_t y = 0; y < b->count[1]; y++) {
				uint64_t element = row(o, b, v, c, z, y);
				for (size_t x = 0; x < b->count[0]; x++, data++) {
					double right = value(element + x, checkpoint);
					if (*data == right || wrong++)
						continue;
					snprintf(what, size,
						 "%s(%zu,%zu,%zu,%zu): %.17g, not %.17g",
						 s3d_variables[v].name, c, b->start[2] + z,
						 b->start[1] + y, b->start[0] + x, *data, right);
				}
			}
	return wrong;
}

double s3d_time(unsigned checkpoint)
{
	return 0.25 * checkpoint;
}

void s3d_path(char *path, size_t size, const struct s3d_options *o, unsigned checkpoint,
	      const char *suffix)
{
	snprintf(path, size, "%s/pressure_wave_test.%.3E.field.%s", o->directory,
		 s3d_time(checkpoint), suffix);
}
