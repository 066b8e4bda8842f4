/* hdf5_hang stuck FILE: ranks write a dataset collectively, three times; the last rank does not make the fourth write, and
 * the others, which say so on stdout just before, wait in it. */
#include <unistd.h>

#include "hdf5_must.h"

enum { HUNG = 3, SIZE = 100 };

static double numbers[SIZE];

static hid_t create(const char *name)
{
	hid_t access, file;

	MUST(access = H5Pcreate(H5P_FILE_ACCESS));
	MUST(H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL));
	MUST(file = H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, access));
	return file;
}

int main(int argc, char **argv)
{
	int rank, size;
	hid_t set, memory, space, transfer;

	MPI_Init(&argc, &argv);
	if (argc != 3)
		MPI_Abort(MPI_COMM_WORLD, 2);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	const hsize_t extent = (hsize_t)size * SIZE, start = (hsize_t)rank * SIZE, count = SIZE;
	MUST(space = H5Screate_simple(1, &extent, NULL));
	MUST(memory = H5Screate_simple(1, &count, NULL));
	MUST(set = H5Dcreate2(create(argv[2]), "v", H5T_NATIVE_DOUBLE, space, H5P_DEFAULT,
			      H5P_DEFAULT, H5P_DEFAULT));
	MUST(H5Sselect_hyperslab(space, H5S_SELECT_SET, &start, NULL, &count, NULL));
	MUST(transfer = H5Pcreate(H5P_DATASET_XFER));
	MUST(H5Pset_dxpl_mpio(transfer, H5FD_MPIO_COLLECTIVE));
	for (int step = 0;; step++) {
		while (step == HUNG && rank == size - 1)
			pause();
		if (step == HUNG && printf("%d waits\n", rank))
			fflush(stdout);
		MUST(H5Dwrite(set, H5T_NATIVE_DOUBLE, memory, space, transfer, numbers));
	}
}
