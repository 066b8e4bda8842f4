/* What goes wrong with netCDF's classic form, and the same work mended:
 *netcdf_mistakes WHAT HOW FILE.
 *
 *	fill      written | never    variables filled when their definition
 *ends, before the data cover them, or not define    late | first attributes
 *that come after the data, or before them
 *
 * One process. */
#include <netcdf.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "netcdf_must.h"

enum { NUMBERS = 256 << 10, VARIABLES = 2 };

static void attributes(int file)
{
	static const char text[8192];

	MUST(nc_put_att_text(file, NC_GLOBAL, "history", sizeof(text), text));
}

static void write_file(const char *path, bool filled, bool late)
{
	float *data = calloc(NUMBERS, sizeof(*data));
	int file, dim, variable[VARIABLES], before;
	char name[16];

	if (!data)
		exit(1);
	MUST(nc_create(path, NC_CLOBBER | NC_64BIT_OFFSET, &file));
	MUST(nc_set_fill(file, filled ? NC_FILL : NC_NOFILL, &before));
	MUST(nc_def_dim(file, "x", NUMBERS, &dim));
	for (int i = 0; i < VARIABLES; i++) {
		snprintf(name, sizeof(name), "v%d", i);
		MUST(nc_def_var(file, name, NC_FLOAT, 1, &dim, &variable[i]));
	}
	if (!late)
		attributes(file);
	MUST(nc_enddef(file));
	for (int i = 0; i < VARIABLES; i++)
		MUST(nc_put_var_float(file, variable[i], data));
	if (late) {
		MUST(nc_redef(file));
		attributes(file);
		MUST(nc_enddef(file));
	}
	MUST(nc_close(file));
	free(data);
}

int main(int argc, char **argv)
{
	const bool fill = argc == 4 && !strcmp(argv[1], "fill");

	if (!fill && (argc != 4 || strcmp(argv[1], "define") != 0)) {
		fprintf(stderr, "usage: netcdf_mistakes fill|define HOW FILE\n");
		return 2;
	}
	write_file(argv[3], fill && !strcmp(argv[2], "written"), !fill && !strcmp(argv[2], "late"));
	return 0;
}
