/* Serial HDF5: the files of the HDF5 form, equal for h5diff. */
#include "hdf5_layout.h"
#include "serial.h"

const char serial_suffix[] = "h5";

static void write_set(void *file, const struct layout *l, unsigned array, const void *data)
{
	const struct array *a = &l->array[array];
	hid_t set = hdf5_create(*(hid_t *)file, l, a);

	hdf5_check(H5Dwrite(set, hdf5_memory_type(a->type), H5S_ALL, H5S_ALL, H5P_DEFAULT, data),
		   "H5Dwrite", a->name);
	hdf5_check(H5Dclose(set), "H5Dclose", a->name);
}

void serial_file(const char *path, const struct layout *l)
{
	hid_t file = hdf5_check(H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT),
				"H5Fcreate", path);

	hdf5_begin(file, l);
	for (unsigned i = 0; i < l->arrays; i++)
		serial_array(l, i, write_set, &file);
	hdf5_check(H5Fclose(file), "H5Fclose", path);
}
