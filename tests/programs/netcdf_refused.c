/* Data that netCDF refuses, and nobody looks: netcdf_refused read-only|writable FILE. 20 writes to a file that was opened
 * to be read only, or to be written. */
#include <string.h>

#include "netcdf_must.h"

enum { SIZE = 100, WRITES = 20 };

static double numbers[SIZE];

int main(int argc, char **argv)
{
	int file, dimension, variable;

	if (argc != 3)
		return 2;
	MUST(nc_create(argv[2], NC_CLOBBER, &file));
	MUST(nc_def_dim(file, "x", SIZE, &dimension));
	MUST(nc_def_var(file, "v", NC_DOUBLE, 1, &dimension, &variable));
	MUST(nc_close(file));
	MUST(nc_open(argv[2], strcmp(argv[1], "read-only") ? NC_WRITE : NC_NOWRITE, &file));
	for (int i = 0; i < WRITES; i++)
		nc_put_var_double(file, variable, numbers);
	MUST(nc_close(file));
	return 0;
}
