/* For each byte on standard input five datasets are made, and written to three times each; says how many of both.
 * usage: linked_in_hdf5 FILE */
#include <hdf5.h>
#include <stdio.h>
#include <unistd.h>

static int datasets, writes;

static void write_some(hid_t file, hid_t space)
{
	const double data[16] = {1};
	char name[32];

	for (int i = 0; i < 5; i++) {
		snprintf(name, sizeof(name), "d%d", datasets++);
		hid_t set = H5Dcreate2(file, name, H5T_NATIVE_DOUBLE, space, H5P_DEFAULT,
				       H5P_DEFAULT, H5P_DEFAULT);

		for (int j = 0; j < 3; j++, writes++)
			H5Dwrite(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, data);
		if (H5Iget_type(set) == H5I_DATASET)
			H5Dclose(set);
	}
	H5Fflush(file, H5F_SCOPE_LOCAL);
}

int main(int count, char **arguments)
{
	const hsize_t size = 16;
	hid_t file, space;
	char byte;

	if (count != 2)
		return 1;
	file = H5Fcreate(arguments[1], H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
	space = H5Screate_simple(1, &size, NULL);
	while (read(0, &byte, 1) == 1) {
		write_some(file, space);
		printf("%d %d\n", datasets, writes);
		fflush(stdout);
	}
	H5Sclose(space);
	return H5Fclose(file) < 0 ? 1 : 7;
}
