/* Every kind of selection, and what a failing call leaves behind: HDF5's error stack must be the
 * program's. Run on any number of ranks; the file is shared where there are several.
 *
 * What the trace must show: a regular hyperslab that moves is one selection with start 0, 10, 20, 30
 * elements apart; points and an irregular union have exact blocks; a hyperslab of 100 rows is a box with
 * exact = false; the failing write has error and size -1. */
#include <hdf5.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "hdf5_must.h"

enum { ROWS = 200, COLUMNS = 40 };

static double data[ROWS * COLUMNS];

static hid_t open_file(const char *name)
{
	hid_t access = H5Pcreate(H5P_FILE_ACCESS), file;

#ifdef H5_HAVE_PARALLEL
	MUST(H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL));
#endif
	MUST(file = H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, access));
	H5Pclose(access);
	return file;
}

/* One row at a time, each 10 elements, 10 further: the shape never changes. */
static void moving(hid_t set, hid_t how, int rank)
{
	hid_t space = H5Dget_space(set), memory;
	hsize_t count[2] = {1, 10}, n = 10;

	memory = H5Screate_simple(1, &n, NULL);
	for (hsize_t i = 0; i < 4; i++) {
		hsize_t start[2] = {(hsize_t)rank, i * 10};

		MUST(H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL));
		MUST(H5Dwrite(set, H5T_NATIVE_DOUBLE, memory, space, how, data));
	}
	H5Sclose(memory);
	H5Sclose(space);
}

static void odd_shapes(hid_t set, int rank)
{
	hid_t space = H5Dget_space(set), memory;
	hsize_t start[2] = {100 + (hsize_t)rank, 0}, one[2] = {1, 3}, n = 6;
	hsize_t points[6][2] = {{5, 5}, {6, 6}, {7, 7}, {8, 1}, {9, 9}, {9, 12}};

	memory = H5Screate_simple(1, &n, NULL);
	MUST(H5Sselect_elements(space, H5S_SELECT_SET, 6, &points[0][0]));
	MUST(H5Dread(set, H5T_NATIVE_DOUBLE, memory, space, H5P_DEFAULT, data));
	MUST(H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, one, NULL));
	start[1] = 20;
	start[0]++;
	MUST(H5Sselect_hyperslab(space, H5S_SELECT_OR, start, NULL, one, NULL));
	MUST(H5Dread(set, H5T_NATIVE_DOUBLE, memory, space, H5P_DEFAULT, data));
	H5Sclose(memory);

	hsize_t many_start[2] = {0, 1}, stride[2] = {2, 4}, count[2] = {100, 10}, all = 1000;
	memory = H5Screate_simple(1, &all, NULL);
	MUST(H5Sselect_hyperslab(space, H5S_SELECT_SET, many_start, stride, count, NULL));
	MUST(H5Dread(set, H5T_NATIVE_DOUBLE, memory, space, H5P_DEFAULT, data));
	MUST(H5Sselect_none(space));
	MUST(H5Sselect_none(memory));
	MUST(H5Dread(set, H5T_NATIVE_DOUBLE, memory, space, H5P_DEFAULT, data));
	H5Sclose(memory);
	H5Sclose(space);
}

/* A write whose selections do not fit together: the stack then tells the program why. */
static void failing(hid_t set)
{
	hid_t memory;
	hsize_t n = 7;
	ssize_t errors;

	H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
	memory = H5Screate_simple(1, &n, NULL);
	if (H5Dwrite(set, H5T_NATIVE_DOUBLE, memory, H5S_ALL, H5P_DEFAULT, data) >= 0)
		fprintf(stderr, "a write that cannot be has succeeded\n");
	errors = H5Eget_num(H5E_DEFAULT);
	printf("error stack: %s\n", errors > 0 ? "kept" : "lost");
	H5Sclose(memory);
}

int main(int argc, char **argv)
{
	hsize_t extent[2] = {ROWS, COLUMNS};
	hid_t file, group, space, set, how;
	int rank = 0;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	file = open_file(argv[1]);
	MUST(group = H5Gcreate2(file, "fields", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
	space = H5Screate_simple(2, extent, NULL);
	MUST(set = H5Dcreate2(group, "pressure", H5T_NATIVE_FLOAT, space, H5P_DEFAULT, H5P_DEFAULT,
			      H5P_DEFAULT));
	how = H5Pcreate(H5P_DATASET_XFER);
#ifdef H5_HAVE_PARALLEL
	MUST(H5Pset_dxpl_mpio(how, H5FD_MPIO_COLLECTIVE));
#endif
	MUST(H5Dwrite(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, how, data));
	moving(set, how, rank);
	MPI_Barrier(MPI_COMM_WORLD);
	odd_shapes(set, rank);
	failing(set);
	MUST(H5Fflush(file, H5F_SCOPE_GLOBAL));
	H5Pclose(how);
	H5Dclose(set);
	H5Sclose(space);
	H5Gclose(group);
	H5Fclose(file);
	MPI_Finalize();
	return 0;
}
