/* A dataset and an attribute that are made before a line of input comes, and written after it: FILE. */
#include <hdf5.h>
#include <mpi.h>
#include <stdio.h>

#include "hdf5_must.h"

enum { ROWS = 4, COLUMNS = 5 };

int main(int argc, char **argv)
{
	const hsize_t extent[2] = {ROWS, COLUMNS};
	const double data[ROWS * COLUMNS] = {0};
	hid_t file, group, space, set, attribute;

	MPI_Init(&argc, &argv);
	MUST(file = H5Fcreate(argv[1], H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT));
	MUST(group = H5Gcreate2(file, "step", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
	MUST(space = H5Screate_simple(2, extent, NULL));
	MUST(set = H5Dcreate2(group, "density", H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, H5P_DEFAULT,
			      H5P_DEFAULT));
	MUST(attribute =
		     H5Acreate2(set, "unit", H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, H5P_DEFAULT));
	puts("made");
	fflush(stdout);
	getchar();
	MUST(H5Dwrite(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, data));
	MUST(H5Dwrite(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, data));
	MUST(H5Awrite(attribute, H5T_NATIVE_DOUBLE, data));
	H5Aclose(attribute);
	H5Dclose(set);
	H5Sclose(space);
	H5Gclose(group);
	H5Fclose(file);
	return MPI_Finalize();
}
