/* Writes a dataset three times and reads it. usage: datasets FILE */
#include <hdf5.h>

enum { SIDE = 64, WRITES = 3 };

int main(int argc, char **argv)
{
	static double data[SIDE * SIDE];
	const hsize_t extents[2] = {SIDE, SIDE};
	hid_t file, space, set;

	if (argc != 2)
		return 2;
	file = H5Fcreate(argv[1], H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
	space = H5Screate_simple(2, extents, NULL);
	set = H5Dcreate2(file, "set", H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, H5P_DEFAULT,
			 H5P_DEFAULT);
	for (int i = 0; i < WRITES; i++)
		H5Dwrite(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, data);
	H5Dread(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, data);
	H5Dclose(set);
	H5Sclose(space);
	return H5Fclose(file) < 0;
}
