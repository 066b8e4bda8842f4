#include <hdf5.h>
#include <mpi.h>
#include <stdlib.h>

enum { ROWS = 4, COLUMNS = 512 };

int main(int argc, char **argv)
{
	static int data[ROWS * COLUMNS];
	int rank, ranks;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);

	hsize_t whole[2] = {(hsize_t)ROWS * ranks, COLUMNS}, mine[2] = {1, COLUMNS}, at[2] = {0, 0};
	hid_t access = H5Pcreate(H5P_FILE_ACCESS), transfer = H5Pcreate(H5P_DATASET_XFER);
	hid_t space = H5Screate_simple(2, whole, NULL), memory = H5Screate_simple(2, mine, NULL);

	H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL);
	hid_t file = H5Fcreate("cells.h5", H5F_ACC_TRUNC, H5P_DEFAULT, access);
	hid_t set = H5Dcreate2(file, "cells", H5T_NATIVE_INT, space, H5P_DEFAULT, H5P_DEFAULT,
			       H5P_DEFAULT);

	for (int row = 0; row < ROWS; row++) {
		at[0] = (hsize_t)ranks * row + rank;
		H5Sselect_hyperslab(space, H5S_SELECT_SET, at, NULL, mine, NULL);
		H5Dwrite(set, H5T_NATIVE_INT, memory, space, transfer, data);
	}
	H5Dread(set, H5T_NATIVE_INT, memory, space, transfer, data);
	H5Dclose(set);
	H5Fclose(file);
	MPI_Finalize();
	return 0;
}
