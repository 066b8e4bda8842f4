/* Writes and reads a file in which raw data and metadata lie mixed: groups and attributes between
 * datasets of every layout. Independent where the last argument says so. Run on any number of ranks. */
#include <hdf5.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "hdf5_must.h"

enum { ROWS = 64, COLUMNS = 128, GROUPS = 6 };

static int rank, ranks;
static double data[ROWS * COLUMNS];

static hid_t access_list(void)
{
	hid_t list = H5Pcreate(H5P_FILE_ACCESS);

	MUST(H5Pset_fapl_mpio(list, MPI_COMM_WORLD, MPI_INFO_NULL));
	return list;
}

static hid_t create(hid_t where, const char *name, hsize_t rows, hid_t how)
{
	hsize_t extent[2] = {rows, COLUMNS};
	hid_t space = H5Screate_simple(2, extent, NULL), set;

	MUST(set = H5Dcreate2(where, name, H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, how,
			      H5P_DEFAULT));
	H5Sclose(space);
	return set;
}

/* Each rank's share of the rows, or none for more ranks than rows. */
static void move(hid_t set, hid_t transfer, bool write)
{
	hid_t space = H5Dget_space(set), memory;
	hsize_t extent[2], start[2] = {0, 0}, count[2] = {0, COLUMNS};

	H5Sget_simple_extent_dims(space, extent, NULL);
	count[0] = extent[0] / (hsize_t)ranks;
	start[0] = count[0] * (hsize_t)rank;
	memory = H5Screate_simple(2, count, NULL);
	MUST(H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL));
	if (write)
		MUST(H5Dwrite(set, H5T_NATIVE_DOUBLE, memory, space, transfer, data));
	else
		MUST(H5Dread(set, H5T_NATIVE_DOUBLE, memory, space, transfer, data));
	H5Sclose(memory);
	H5Sclose(space);
}

static void attribute(hid_t object, const char *name)
{
	hid_t space = H5Screate(H5S_SCALAR), created;
	double value = 1.5;

	MUST(created =
		     H5Acreate2(object, name, H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, H5P_DEFAULT));
	MUST(H5Awrite(created, H5T_NATIVE_DOUBLE, &value));
	H5Aclose(created);
	H5Sclose(space);
}

static void write_group(hid_t file, int number, hid_t transfer)
{
	hsize_t chunk[2] = {ROWS / 4, COLUMNS};
	hid_t how = H5Pcreate(H5P_DATASET_CREATE), group, set;
	char name[32];

	snprintf(name, sizeof(name), "group%d", number);
	MUST(group = H5Gcreate2(file, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
	for (int i = 0; i < 20; i++) {
		snprintf(name, sizeof(name), "attribute%d", i);
		attribute(group, name);
	}
	set = create(group, "contiguous", ROWS, H5P_DEFAULT);
	move(set, transfer, true);
	attribute(set, "unit");
	H5Dclose(set);
	MUST(H5Pset_chunk(how, 2, chunk));
	set = create(group, "chunked", ROWS, how);
	move(set, transfer, true);
	H5Dclose(set);
	MUST(H5Pset_layout(how, H5D_COMPACT));
	set = create(group, "compact", 4, how);
	H5Dclose(set);
	H5Gclose(group);
	H5Pclose(how);
	if (number == GROUPS / 2)
		MUST(H5Fflush(file, H5F_SCOPE_GLOBAL));
}

static void read_group(hid_t file, int number, hid_t transfer)
{
	static const char *const sets[] = {"contiguous", "chunked"};
	char name[64];
	hid_t set;

	for (int i = 0; i < 2; i++) {
		snprintf(name, sizeof(name), "group%d/%s", number, sets[i]);
		MUST(set = H5Dopen2(file, name, H5P_DEFAULT));
		move(set, transfer, false);
		H5Dclose(set);
	}
}

int main(int argc, char **argv)
{
	const bool independent = argc > 2 && !strcmp(argv[2], "independent");
	hid_t transfer, access, file;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	transfer = H5Pcreate(H5P_DATASET_XFER);
	access = access_list();
	if (!independent)
		MUST(H5Pset_dxpl_mpio(transfer, H5FD_MPIO_COLLECTIVE));
	for (int i = 0; i < ROWS * COLUMNS; i++)
		data[i] = rank + i * 1e-3;
	MUST(file = H5Fcreate(argv[1], H5F_ACC_TRUNC, H5P_DEFAULT, access));
	for (int i = 0; i < GROUPS; i++)
		write_group(file, i, transfer);
	MUST(H5Fclose(file));
	MUST(file = H5Fopen(argv[1], H5F_ACC_RDONLY, access));
	for (int i = 0; i < GROUPS; i++)
		read_group(file, i, transfer);
	MUST(H5Fclose(file));
	H5Pclose(access);
	H5Pclose(transfer);
	MPI_Finalize();
	return 0;
}
