/* Data that a library refuses, and nobody looks: hdf5_refused hdf5|mpiio read-only|writable FILE. 20 writes to a file that
 * was opened to be read only, or to be written. */
#include <hdf5.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "hdf5_must.h"

enum { WRITES = 20 };

static double numbers[100];

static hid_t created_dataset(const char *path, hid_t *file)
{
	const hsize_t extent = sizeof(numbers) / sizeof(*numbers);
	hid_t space, set;

	MUST(*file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT));
	MUST(space = H5Screate_simple(1, &extent, NULL));
	MUST(set = H5Dcreate2(*file, "x", H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, H5P_DEFAULT,
			      H5P_DEFAULT));
	MUST(H5Dwrite(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, numbers));
	H5Sclose(space);
	return set;
}

static void by_hdf5(const char *path, bool read_only)
{
	hid_t file;
	hid_t set = created_dataset(path, &file);

	if (read_only) {
		H5Dclose(set);
		H5Fclose(file);
		MUST(file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT));
		MUST(set = H5Dopen2(file, "x", H5P_DEFAULT));
	}
	H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
	for (int i = 0; i < WRITES; i++)
		H5Dwrite(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, numbers);
	H5Dclose(set);
	H5Fclose(file);
}

static void by_mpiio(const char *path, bool read_only)
{
	MPI_File file;

	MPI_File_open(MPI_COMM_SELF, path, MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file);
	if (read_only) {
		MPI_File_close(&file);
		MPI_File_open(MPI_COMM_SELF, path, MPI_MODE_RDONLY, MPI_INFO_NULL, &file);
	}
	/* MPI returns errors of files, unless it is told otherwise. */
	for (int i = 0; i < WRITES; i++)
		MPI_File_write_at(file, 0, numbers, 100, MPI_DOUBLE, MPI_STATUS_IGNORE);
	MPI_File_close(&file);
}

int main(int argc, char **argv)
{
	if (argc != 4) {
		fprintf(stderr, "usage: hdf5_refused hdf5|mpiio read-only|writable FILE\n");
		return 2;
	}
	MPI_Init(&argc, &argv);
	(strcmp(argv[1], "hdf5") ? by_mpiio : by_hdf5)(argv[3], !strcmp(argv[2], "read-only"));
	MPI_Finalize();
	return 0;
}
