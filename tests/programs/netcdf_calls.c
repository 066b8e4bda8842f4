/* Parallel netCDF-4: groups, variables, collective and independent access, with its own account (account.h).
 * usage: netcdf_calls FOLDER. Rank r owns rows 10 r to 10 r + 9 of each array. */
#include <netcdf.h>
#include <netcdf_par.h>

#include "account.h"

enum { ROWS = 10, COLUMNS = 12, RECORDS = 3 };

static int file, group, pressure, temperature, packed, level, flags, place;
static double data[ROWS * COLUMNS];
static float single[ROWS * COLUMNS];

static void define(const char *folder)
{
	const size_t chunk[2] = {ROWS, COLUMNS / 2};
	char name[4096];
	int time, y, x, both[2], record[3];

	snprintf(name, sizeof(name), "%s/f.nc", folder);
	MUST(nc_create_par(name, NC_NETCDF4 | NC_CLOBBER, MPI_COMM_WORLD, MPI_INFO_NULL, &file));
	MUST(nc_def_dim(file, "time", NC_UNLIMITED, &time));
	MUST(nc_def_dim(file, "y", (size_t)ranks * ROWS, &y));
	MUST(nc_def_dim(file, "x", COLUMNS, &x));
	MUST(nc_def_grp(file, "fields", &group));
	record[0] = time;
	record[1] = both[0] = y;
	record[2] = both[1] = x;
	MUST(nc_def_var(group, "pressure", NC_FLOAT, 3, record, &pressure));
	MUST(nc_def_var(group, "temperature", NC_DOUBLE, 2, both, &temperature));
	MUST(nc_def_var(file, "packed", NC_FLOAT, 2, both, &packed));
	MUST(nc_def_var_chunking(file, packed, NC_CHUNKED, chunk));
	MUST(nc_def_var_deflate(file, packed, 1, 1, 4));
	MUST(nc_def_var(file, "level", NC_INT, 1, &y, &level));
	MUST(nc_def_var(file, "flags", NC_BYTE, 1, &y, &flags));
	MUST(nc_def_var(file, "place", NC_INT, 0, NULL, &place));
	MUST(nc_put_att_text(file, NC_GLOBAL, "title", 4, "test"));
	MUST(nc_put_att_double(group, pressure, "scale", NC_DOUBLE, 1, data));
	MUST(nc_enddef(file));
}

static void independent(void)
{
	const size_t first[1] = {(size_t)rank * ROWS};
	size_t start[2] = {(size_t)rank * ROWS, 0}, count[2] = {ROWS / 2, COLUMNS};
	const ptrdiff_t stride[2] = {2, 3}, map[2] = {1, 2};

	for (int half = 0; half < 2; half++) {
		say("nc_put_vara", "/fields/temperature", ROWS / 2 * COLUMNS * 8L,
		    (long)start[0] * COLUMNS, ROWS / 2 * COLUMNS, "0+5,0+12");
		MUST(nc_put_vara_double(group, temperature, start, count, data));
		start[0] += ROWS / 2;
	}
	start[0] = (size_t)rank * ROWS;
	start[1] = 1;
	count[0] = count[1] = 2;
	say("nc_put_vars", "/fields/temperature", 4 * 4L, (long)start[0] * COLUMNS + 1, 4,
	    "0+1,0+1 0+1,3+1 2+1,0+1 2+1,3+1");
	MUST(nc_put_vars_float(group, temperature, start, count, stride, single));
	start[1] = 0;
	count[1] = 3;
	say("nc_put_varm", "/fields/temperature", 6 * 8L, (long)start[0] * COLUMNS, 6, "0+2,0+3");
	MUST(nc_put_varm_double(group, temperature, start, count, NULL, map, data));
	count[0] = ROWS;
	count[1] = COLUMNS;
	say("nc_put_vara", "/fields/temperature", ROWS * COLUMNS * 8L, (long)start[0] * COLUMNS,
	    ROWS * COLUMNS, "0+10,0+12");
	MUST(nc_put_vara(group, temperature, start, count, data));
	say("nc_put_var1", "/level", 4, rank * ROWS, 1, "0+1");
	MUST(nc_put_var1_int(file, level, first, &rank));
	if (rank == 0) {
		say("nc_put_var", "/place", 4, 0, 1, "");
		MUST(nc_put_var_int(file, place, &ranks));
	}
}

/* Records, which must be written together; and a compressed variable, which always is. */
static void together(void)
{
	size_t start[3] = {0, (size_t)rank * ROWS, 0}, count[3] = {1, ROWS, COLUMNS};
	float *all = malloc((size_t)(RECORDS * ranks * ROWS * COLUMNS) * sizeof(*all));

	MUST(nc_var_par_access(group, pressure, NC_COLLECTIVE));
	for (; start[0] < RECORDS; start[0]++) {
		say("nc_put_vara", "/fields/pressure", ROWS * COLUMNS * 4L,
		    ((long)start[0] * ranks * ROWS + rank * ROWS) * COLUMNS, ROWS * COLUMNS,
		    "0+1,0+10,0+12");
		MUST(nc_put_vara_float(group, pressure, start, count, single));
	}
	say("nc_get_var", "/fields/pressure", (long)RECORDS * ranks * ROWS * COLUMNS * 4, 0,
	    (long)RECORDS * ranks * ROWS * COLUMNS, "");
	MUST(nc_get_var_float(group, pressure, all));
	free(all);
	MUST(nc_var_par_access(group, pressure, NC_INDEPENDENT));
	start[0] = 0;
	say("nc_get_vara", "/fields/pressure", ROWS * COLUMNS * 4L, rank * ROWS * COLUMNS,
	    ROWS * COLUMNS, "0+1,0+10,0+12");
	MUST(nc_get_vara_float(group, pressure, start, count, single));
	say("nc_put_vara", "/packed", ROWS * COLUMNS * 4L, rank * ROWS * COLUMNS, ROWS * COLUMNS,
	    "0+10,0+12");
	MUST(nc_put_vara_float(file, packed, start + 1, count + 1, single));
}

/* A value out of range, an index out of range, an id that is none. */
static void failing(void)
{
	const size_t start[1] = {(size_t)rank * ROWS}, beyond[1] = {(size_t)ranks * ROWS + 7};
	const double large = 1e6;

	say("nc_put_var1", "/flags", 8, rank * ROWS, 1, "0+1");
	MUST_FAIL(nc_put_var1_double(file, flags, start, &large), NC_ERANGE);
	say("nc_put_var1", "/flags", -1, -1, -1, "failed");
	MUST_FAIL(nc_put_var1_double(file, flags, beyond, &large), NC_EINVALCOORDS);
	MUST_FAIL(nc_put_var1_double(4711 << 16, flags, start, &large), NC_EBADID);
}

static void again(const char *folder)
{
	size_t start[2] = {(size_t)rank * ROWS, 0}, count[2] = {ROWS, COLUMNS};
	char name[4096];

	snprintf(name, sizeof(name), "%s/f.nc", folder);
	MUST(nc_open_par(name, NC_NOWRITE, MPI_COMM_WORLD, MPI_INFO_NULL, &file));
	MUST(nc_inq_ncid(file, "fields", &group));
	MUST(nc_inq_varid(group, "temperature", &temperature));
	MUST(nc_var_par_access(group, temperature, NC_COLLECTIVE));
	say("nc_get_vara", "/fields/temperature", ROWS * COLUMNS * 8L, (long)start[0] * COLUMNS,
	    ROWS * COLUMNS, "0+10,0+12");
	MUST(nc_get_vara_double(group, temperature, start, count, data));
	say("nc_get_vara", "/packed", ROWS * COLUMNS * 4L, rank * ROWS * COLUMNS, ROWS * COLUMNS,
	    "0+10,0+12");
	MUST(nc_get_vara_float(file, packed, start, count, single));
	MUST(nc_close(file));
}

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	account_open(argv[1]);
	define(argv[1]);
	independent();
	together();
	failing();
	MUST(nc_sync(file));
	MUST(nc_close(file));
	again(argv[1]);
	fclose(account);
	MPI_Finalize();
	return 0;
}
