/* A compound of eight fields, written and read one field at a time, by memory types as large as all of them. */
#include <hdf5.h>
#include <stdio.h>

enum { FIELDS = 8, ELEMENTS = 1000 };
static int memory[ELEMENTS][FIELDS];

static hid_t type_of(int from, int to)
{
	const hid_t type = H5Tcreate(H5T_COMPOUND, sizeof(memory[0]));

	for (int i = from; i < to; i++) {
		char name[8];

		snprintf(name, sizeof(name), "f%d", i);
		H5Tinsert(type, name, (size_t)i * sizeof(int), H5T_NATIVE_INT);
	}
	return type;
}

int main(int argc, char **argv)
{
	const hsize_t extent = ELEMENTS;
	const hid_t file = H5Fcreate(argv[argc - 1], H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
	const hid_t space = H5Screate_simple(1, &extent, NULL), type = type_of(0, FIELDS);
	const hid_t set = H5Dcreate2(file, "d", type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);

	for (int i = 0; i < FIELDS; i++) {
		const hid_t field = type_of(i, i + 1);

		H5Dwrite(set, field, H5S_ALL, H5S_ALL, H5P_DEFAULT, memory);
		H5Tclose(field);
	}
	H5Dread(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, memory);
	H5Dclose(set);
	H5Tclose(type);
	H5Sclose(space);
	return H5Fclose(file) < 0;
}
