/* 40 writes of 64 elements by index maps: in one piece, with holes in memory, in the file, and in both, 10 times each. */
#include <netcdf.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "netcdf_must.h"

enum { SIDE = 64, TIMES = 10 };

static double data[2 * SIDE * SIDE];

int main(int argc, char **argv)
{
	int file, dimension[2], variable;

	if (argc < 2)
		return 2;
	MUST(nc_create(argv[1], NC_CLOBBER, &file));
	MUST(nc_def_dim(file, "y", SIDE, &dimension[0]));
	MUST(nc_def_dim(file, "x", SIDE, &dimension[1]));
	MUST(nc_def_var(file, "v", NC_DOUBLE, 2, dimension, &variable));
	MUST(nc_enddef(file));
	for (int which = 0; which < 4; which++)
		for (size_t i = 0; i < TIMES; i++) {
			const ptrdiff_t apart = which & 1 ? 2 : 1;
			const size_t row_start[2] = {i, 0}, row[2] = {1, SIDE};
			const size_t column_start[2] = {0, i}, column[2] = {SIDE, 1};
			const ptrdiff_t map[2] = {which & 2 ? apart : SIDE * apart, apart};

			MUST(nc_put_varm_double(file, variable,
						which & 2 ? column_start : row_start,
						which & 2 ? column : row, NULL, map, data));
		}
	MUST(nc_close(file));
	return 0;
}
