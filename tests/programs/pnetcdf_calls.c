/* Every kind of PnetCDF access, blocking and posted, with its own account of what it selects (account.h).
 * usage: pnetcdf_calls FOLDER. Rank r owns rows 10 r to 10 r + 9 of each array. */
#include <pnetcdf.h>

#include "account.h"

enum { ROWS = 10, COLUMNS = 12, RECORDS = 3 };

static int file, pressure, temperature, level, flags, place;
static double data[ROWS * COLUMNS];
static float single[ROWS * COLUMNS];

static void define(const char *folder)
{
	char name[4096];
	int time, y, x, both[2], record[3];
	MPI_Info info;

	MPI_Info_create(&info);
	MPI_Info_set(info, "nc_var_align_size", "512");
	snprintf(name, sizeof(name), "%s/f.nc", folder);
	MUST(ncmpi_create(MPI_COMM_WORLD, name, NC_CLOBBER | NC_64BIT_DATA, info, &file));
	MPI_Info_free(&info);
	MUST(ncmpi_def_dim(file, "time", NC_UNLIMITED, &time));
	MUST(ncmpi_def_dim(file, "y", (MPI_Offset)ranks * ROWS, &y));
	MUST(ncmpi_def_dim(file, "x", COLUMNS, &x));
	record[0] = time;
	record[1] = both[0] = y;
	record[2] = both[1] = x;
	MUST(ncmpi_def_var(file, "pressure", NC_FLOAT, 3, record, &pressure));
	MUST(ncmpi_def_var(file, "temperature", NC_DOUBLE, 2, both, &temperature));
	MUST(ncmpi_def_var(file, "level", NC_INT, 1, &y, &level));
	MUST(ncmpi_def_var(file, "flags", NC_BYTE, 1, &y, &flags));
	MUST(ncmpi_def_var(file, "place", NC_INT, 0, NULL, &place));
	MUST(ncmpi_put_att_text(file, NC_GLOBAL, "title", 4, "test"));
	MUST(ncmpi_put_att_double(file, pressure, "scale", NC_DOUBLE, 1, data));
	MUST(ncmpi_enddef(file));
}

/* vara, vars, varm, var: collective, one type in memory. */
static void blocking(void)
{
	MPI_Offset start[2] = {(MPI_Offset)rank * ROWS, 0}, count[2] = {ROWS / 2, COLUMNS};
	MPI_Offset stride[2] = {2, 3}, map[2] = {1, ROWS};

	for (int half = 0; half < 2; half++) {
		say("ncmpi_put_vara_all", "temperature", ROWS / 2 * COLUMNS * 8L,
		    start[0] * COLUMNS, ROWS / 2 * COLUMNS, "0+5,0+12");
		MUST(ncmpi_put_vara_double_all(file, temperature, start, count, data));
		start[0] += ROWS / 2;
	}
	start[0] = (MPI_Offset)rank * ROWS;
	start[1] = 1;
	count[0] = 2;
	count[1] = 2;
	say("ncmpi_put_vars_all", "temperature", 4 * 4L, start[0] * COLUMNS + 1, 4,
	    "0+1,0+1 0+1,3+1 2+1,0+1 2+1,3+1");
	MUST(ncmpi_put_vars_float_all(file, temperature, start, count, stride, single));
	start[1] = 0;
	count[0] = ROWS;
	count[1] = COLUMNS;
	say("ncmpi_put_varm_all", "temperature", ROWS * COLUMNS * 8L, start[0] * COLUMNS,
	    ROWS * COLUMNS, "0+10,0+12");
	MUST(ncmpi_put_varm_double_all(file, temperature, start, count, NULL, map, data));
	say("ncmpi_put_var1_all", "level", 4, rank * ROWS, 1, "0+1");
	MUST(ncmpi_put_var1_int_all(file, level, start, &rank));
	say("ncmpi_put_var_all", "place", 4, 0, 1, "");
	MUST(ncmpi_put_var_int_all(file, place, &ranks));
}

/* Records are appended; the unlimited dimension grows. */
static void records(void)
{
	MPI_Offset start[3] = {0, (MPI_Offset)rank * ROWS, 0}, count[3] = {1, ROWS, COLUMNS};

	for (start[0] = 0; start[0] < RECORDS; start[0]++) {
		say("ncmpi_put_vara_all", "pressure", ROWS * COLUMNS * 4L,
		    (start[0] * ranks * ROWS + rank * ROWS) * COLUMNS, ROWS * COLUMNS,
		    "0+1,0+10,0+12");
		MUST(ncmpi_put_vara_float_all(file, pressure, start, count, single));
	}
	say("ncmpi_get_var_all", "pressure", (long)RECORDS * ranks * ROWS * COLUMNS * 4, 0,
	    (long)RECORDS * ranks * ROWS * COLUMNS, "");
	float *all = malloc((size_t)(RECORDS * ranks * ROWS * COLUMNS) * sizeof(*all));
	MUST(ncmpi_get_var_float_all(file, pressure, all));
	free(all);
}

/* The buffer is described by an MPI datatype; or is of the variable's own type; or of a plain one. */
static void flexible(void)
{
	MPI_Offset start[2] = {(MPI_Offset)rank * ROWS, 2}, count[2] = {ROWS, 3};
	MPI_Datatype column;

	MPI_Type_vector(ROWS, 3, COLUMNS, MPI_DOUBLE, &column);
	MPI_Type_commit(&column);
	say("ncmpi_put_vara_all", "temperature", ROWS * 3 * 8L, start[0] * COLUMNS + 2, ROWS * 3,
	    "0+10,0+3");
	MUST(ncmpi_put_vara_all(file, temperature, start, count, data, 1, column));
	say("ncmpi_get_vara_all", "temperature", ROWS * 3 * 8L, start[0] * COLUMNS + 2, ROWS * 3,
	    "0+10,0+3");
	MUST(ncmpi_get_vara_all(file, temperature, start, count, data, 0, MPI_DATATYPE_NULL));
	say("ncmpi_get_vara_all", "temperature", ROWS * 3 * 4L, start[0] * COLUMNS + 2, ROWS * 3,
	    "0+10,0+3");
	MUST(ncmpi_get_vara_all(file, temperature, start, count, single, ROWS * 3, MPI_FLOAT));
	MPI_Type_free(&column);
}

static void lists(void)
{
	MPI_Offset start[70][2], count[3][2] = {{2, 3}, {1, 4}, {1, 1}};
	MPI_Offset *starts[70], *counts[3] = {count[0], count[1], count[2]};

	for (int i = 0; i < 70; i++) {
		starts[i] = start[i];
		start[i][0] = rank * ROWS + i / COLUMNS;
		start[i][1] = i % COLUMNS;
	}
	start[0][1] = 1;
	start[1][0] += 4;
	start[2][0] += 9;
	start[2][1] = 0;
	say("ncmpi_put_varn_all", "temperature", 11 * 8L, start[0][0] * COLUMNS, 11,
	    "0+2,1+3 4+1,1+4 9+1,0+1");
	MUST(ncmpi_put_varn_double_all(file, temperature, 3, starts, counts, data));
	start[0][1] = 0;
	start[1][0] -= 4;
	start[2][0] -= 9;
	start[2][1] = 2;
	say("ncmpi_get_varn_all", "temperature", 70 * 8L, start[0][0] * COLUMNS, 70, "many");
	MUST(ncmpi_get_varn_double_all(file, temperature, 70, starts, NULL, data));
}

static void datatype_of_file(void)
{
	int size[2] = {ranks * ROWS, COLUMNS}, part[2] = {ROWS, 4}, first[2] = {rank * ROWS, 4};
	MPI_Datatype view;

	MPI_Type_create_subarray(2, size, part, first, MPI_ORDER_C, MPI_DOUBLE, &view);
	MPI_Type_commit(&view);
	say("ncmpi_put_vard_all", "temperature", ROWS * 4 * 8L, -1, ROWS * 4 * 8L, "bytes");
	MUST(ncmpi_put_vard_all(file, temperature, view, data, ROWS * 4, MPI_DOUBLE));
	MPI_Type_free(&view);
}

static void independent(void)
{
	MPI_Offset start[2] = {(MPI_Offset)rank * ROWS, 0}, count[2] = {1, COLUMNS};
	int request;

	MUST(ncmpi_begin_indep_data(file));
	if (rank == 0) {
		say("ncmpi_put_vara", "temperature", COLUMNS * 8L, start[0] * COLUMNS, COLUMNS,
		    "0+1,0+12");
		MUST(ncmpi_put_vara_double(file, temperature, start, count, data));
	}
	say("ncmpi_iget_vara", "temperature", COLUMNS * 8L, start[0] * COLUMNS, COLUMNS,
	    "0+1,0+12");
	MUST(ncmpi_iget_vara_double(file, temperature, start, count, data, &request));
	MUST(ncmpi_wait(file, 1, &request, NULL));
	MUST(ncmpi_end_indep_data(file));
}

/* Posts are completed by a list, by "all", by kind; one is cancelled. */
static void posted(void)
{
	MPI_Offset start[2] = {(MPI_Offset)rank * ROWS, 0}, count[2] = {2, COLUMNS};
	MPI_Offset *starts[1] = {start}, *counts[1] = {count};
	int request[4], status[4], more;

	MUST(ncmpi_buffer_attach(file, 4096));
	for (int i = 0; i < 3; i++, start[0] += 2) {
		const char *op = i < 2 ? "ncmpi_iput_vara" : "ncmpi_bput_vara";

		say(op, "temperature", 2 * COLUMNS * 8L, start[0] * COLUMNS, 2 * COLUMNS,
		    "0+2,0+12");
		MUST((i < 2 ? ncmpi_iput_vara_double : ncmpi_bput_vara_double)(
			file, temperature, start, count, data, &request[i]));
	}
	say("ncmpi_iput_varn", "temperature", 2 * COLUMNS * 8L, start[0] * COLUMNS, 2 * COLUMNS,
	    "0+2,0+12");
	MUST(ncmpi_iput_varn_double(file, temperature, 1, starts, counts, data, &request[3]));
	MUST(ncmpi_wait_all(file, 4, request, status));
	for (int i = 0; i < 4; i++)
		MUST(status[i]);

	say("ncmpi_iget_var", "level", ranks * ROWS * 4L, 0, (long)ranks * ROWS, "");
	int *levels = malloc((size_t)(ranks * ROWS) * sizeof(*levels));
	MUST(ncmpi_iget_var_int(file, level, levels, NULL)); /* its id is not asked for */
	say("ncmpi_bput_var1", "level", 4, rank * ROWS, 1, "0+1");
	start[0] = (MPI_Offset)rank * ROWS;
	MUST(ncmpi_bput_var1_int(file, level, start, &rank, NULL));
	MUST(ncmpi_wait_all(file, NC_PUT_REQ_ALL, NULL, NULL));
	MUST(ncmpi_wait_all(file, NC_REQ_ALL, NULL, NULL));
	free(levels);

	say("ncmpi_iput_vara", "temperature", 2 * COLUMNS * 8L, start[0] * COLUMNS, 2 * COLUMNS,
	    "0+2,0+12");
	MUST(ncmpi_iput_vara_double(file, temperature, start, count, data, &more));
	MUST(ncmpi_cancel(file, 1, &more, NULL));
	MUST(ncmpi_buffer_detach(file));
}

static void several(void)
{
	MPI_Offset first[2] = {(MPI_Offset)rank * ROWS, 0}, n[2] = {2, 6};
	MPI_Offset *starts[2] = {first, first}, *counts[2] = {n, n};
	int variables[2] = {temperature, temperature}, *levels[1] = {&rank}, one[1] = {level};
	double *buffers[2] = {data, data};

	say("ncmpi_mget_vara_all", "", 2 * 12 * 8L, 0, -1, "");
	MUST(ncmpi_mget_vara_double_all(file, 2, variables, starts, counts, buffers));
	say("ncmpi_mput_var1_all", "", 4, 0, -1, "");
	MUST(ncmpi_mput_var1_int_all(file, 1, one, starts, levels));
}

/* A value out of range, an index out of range, an id that is none. */
static void failing(void)
{
	MPI_Offset start[2] = {(MPI_Offset)rank * ROWS, 0}, beyond[2] = {ranks * ROWS + 7, 0};
	double large = 1e6;

	say("ncmpi_put_var1_all", "flags", 8, rank * ROWS, 1, "0+1");
	MUST_FAIL(ncmpi_put_var1_double_all(file, flags, start, &large), NC_ERANGE);
	say("ncmpi_put_var1_all", "flags", -1, -1, -1, "failed");
	MUST_FAIL(ncmpi_put_var1_double_all(file, flags, beyond, &large), NC_EINVALCOORDS);
	MUST_FAIL(ncmpi_put_var1_double_all(4711, flags, start, &large), NC_EBADID);
}

/* Opened once more; then closed with a post that nobody waits for, which closes it and says so. */
static void again(const char *folder)
{
	MPI_Offset start[2] = {(MPI_Offset)rank * ROWS, 0}, count[2] = {ROWS, COLUMNS};
	char name[4096];
	int request;

	snprintf(name, sizeof(name), "%s/f.nc", folder);
	MUST(ncmpi_open(MPI_COMM_WORLD, name, NC_NOWRITE, MPI_INFO_NULL, &file));
	MUST(ncmpi_inq_varid(file, "temperature", &temperature));
	say("ncmpi_get_vara_all", "temperature", ROWS * COLUMNS * 8L, start[0] * COLUMNS,
	    ROWS * COLUMNS, "0+10,0+12");
	MUST(ncmpi_get_vara_double_all(file, temperature, start, count, data));
	say("ncmpi_iget_vara", "temperature", ROWS * COLUMNS * 8L, start[0] * COLUMNS,
	    ROWS * COLUMNS, "0+10,0+12");
	MUST(ncmpi_iget_vara_double(file, temperature, start, count, data, &request));
	MUST_FAIL(ncmpi_close(file), NC_EPENDING);
}

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	account_open(argv[1]);
	define(argv[1]);
	blocking();
	records();
	flexible();
	lists();
	datatype_of_file();
	independent();
	posted();
	several();
	failing();
	MUST(ncmpi_sync(file));
	MUST(ncmpi_close(file));
	again(argv[1]);
	again(argv[1]);
	fclose(account);
	MPI_Finalize();
	return 0;
}
