/* 40 writes of 64 elements: in one piece, with holes in memory, in the file, and in both, 10 times each. A
 * tenth of those that have holes in both or in none have no dataspace of memory: it is laid out as the file is. */
#include <hdf5.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#define MUST(call)                                                                                 \
	do {                                                                                       \
		if ((call) < 0) {                                                                  \
			fprintf(stderr, "%s failed\n", #call);                                     \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

enum { SIDE = 64, TIMES = 10 };

static double data[SIDE * SIDE];

static hid_t memory_of(bool holes)
{
	const hsize_t apart[2] = {SIDE, 2}, packed = SIDE, start[2] = {0, 1}, count[2] = {SIDE, 1};
	hid_t space = holes ? H5Screate_simple(2, apart, NULL) : H5Screate_simple(1, &packed, NULL);

	if (holes)
		MUST(H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL));
	return space;
}

static void write_some(hid_t set, bool memory_holes, bool file_holes)
{
	hid_t space = H5Dget_space(set), memory = memory_of(memory_holes);

	for (hsize_t i = 0; i < TIMES; i++) {
		const hsize_t start[2] = {file_holes ? 0 : i, file_holes ? i : 0};
		const hsize_t count[2] = {file_holes ? SIDE : 1, file_holes ? 1 : SIDE};
		const bool like_file = i == 0 && memory_holes == file_holes;

		MUST(H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL));
		MUST(H5Dwrite(set, H5T_NATIVE_DOUBLE, like_file ? H5S_ALL : memory, space,
			      H5P_DEFAULT, data));
	}
	H5Sclose(memory);
	H5Sclose(space);
}

int main(int argc, char **argv)
{
	const hsize_t extent[2] = {SIDE, SIDE};
	hid_t file, space, set;

	if (argc < 2)
		return 2;
	MUST(file = H5Fcreate(argv[1], H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT));
	space = H5Screate_simple(2, extent, NULL);
	MUST(set = H5Dcreate2(file, "set", H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, H5P_DEFAULT,
			      H5P_DEFAULT));
	for (int which = 0; which < 4; which++)
		write_some(set, which & 1, which & 2);
	H5Sclose(space);
	H5Dclose(set);
	MUST(H5Fclose(file));
	return 0;
}
