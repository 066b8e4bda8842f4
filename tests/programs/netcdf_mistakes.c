/* What goes wrong with netCDF's classic form, and the same work mended: netcdf_mistakes WHAT HOW FILE.
 *
 *	fill    written | never    variables filled when their definition ends, before the data cover them, or not
 *
 * One process; calloc'ed data. */
#include <netcdf.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MUST(call)                                                                                 \
	do {                                                                                       \
		int error_ = (call);                                                               \
		if (error_) {                                                                      \
			fprintf(stderr, "%s: %s\n", #call, nc_strerror(error_));                   \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

enum { NUMBERS = 4 << 20, VARIABLES = 2 };

static void fill(const char *path, bool wrong)
{
	float *data = calloc(NUMBERS, sizeof(*data));
	int file, dim, variable[VARIABLES], before;
	char name[16];

	if (!data)
		exit(1);
	MUST(nc_create(path, NC_CLOBBER | NC_64BIT_OFFSET, &file));
	MUST(nc_set_fill(file, wrong ? NC_FILL : NC_NOFILL, &before));
	MUST(nc_def_dim(file, "x", NUMBERS, &dim));
	for (int i = 0; i < VARIABLES; i++) {
		snprintf(name, sizeof(name), "v%d", i);
		MUST(nc_def_var(file, name, NC_FLOAT, 1, &dim, &variable[i]));
	}
	MUST(nc_enddef(file));
	for (int i = 0; i < VARIABLES; i++)
		MUST(nc_put_var_float(file, variable[i], data));
	MUST(nc_close(file));
	free(data);
}

int main(int argc, char **argv)
{
	if (argc != 4 || strcmp(argv[1], "fill") != 0) {
		fprintf(stderr, "usage: netcdf_mistakes fill written|never FILE\n");
		return 2;
	}
	fill(argv[3], !strcmp(argv[2], "written"));
	return 0;
}
