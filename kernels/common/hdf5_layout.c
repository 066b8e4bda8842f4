#include "hdf5_layout.h"

#include <string.h>

hid_t hdf5_check(hid_t id, const char *call, const char *object)
{
	if (id < 0)
		fail(call, object, "HDF5 error, see its report above");
	return id;
}

hid_t hdf5_memory_type(enum element type)
{
	return type == FLOAT64   ? H5T_NATIVE_DOUBLE
	       : type == FLOAT32 ? H5T_NATIVE_FLOAT
				 : H5T_NATIVE_INT32;
}

static hid_t file_type(enum element type)
{
	return type == FLOAT64 ? H5T_IEEE_F64LE : type == FLOAT32 ? H5T_IEEE_F32LE : H5T_STD_I32LE;
}

static void attribute(hid_t file, const struct attribute *a)
{
	hid_t space = H5Screate(H5S_SCALAR);
	hid_t type = H5Tcopy(a->text ? H5T_C_S1 : file_type(a->type));

	if (a->text)
		H5Tset_size(type, strlen(a->text) + 1);
	hid_t id = hdf5_check(H5Acreate2(file, a->name, type, space, H5P_DEFAULT, H5P_DEFAULT),
			      "H5Acreate2", a->name);
	hdf5_check(a->text ? H5Awrite(id, type, a->text)
			   : H5Awrite(id, H5T_NATIVE_DOUBLE, &a->value),
		   "H5Awrite", a->name);
	H5Aclose(id);
	H5Tclose(type);
	H5Sclose(space);
}

static void groups(hid_t file, const char *name)
{
	char path[sizeof(((struct array *)0)->name)];

	for (const char *slash = strchr(name, '/'); slash; slash = strchr(slash + 1, '/')) {
		memcpy(path, name, (size_t)(slash - name));
		path[slash - name] = 0;
		if (hdf5_check(H5Lexists(file, path, H5P_DEFAULT), "H5Lexists", path))
			continue;
		H5Gclose(hdf5_check(H5Gcreate2(file, path, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
				    "H5Gcreate2", path));
	}
}

void hdf5_begin(hid_t file, const struct layout *l)
{
	for (unsigned i = 0; i < l->attributes; i++)
		attribute(file, &l->attribute[i]);
	for (unsigned i = 0; i < l->arrays; i++)
		groups(file, l->array[i].name);
}

hid_t hdf5_create(hid_t file, const struct layout *l, const struct array *a)
{
	hsize_t extent[LAYOUT_RANK], chunk[LAYOUT_RANK];
	hid_t how = hdf5_check(H5Pcreate(H5P_DATASET_CREATE), "H5Pcreate", a->name);

	for (unsigned d = 0; d < a->rank; d++) {
		extent[d] = array_extent(l, a, d);
		chunk[d] = a->chunk[d];
	}
	if (a->chunk[0])
		hdf5_check(H5Pset_chunk(how, (int)a->rank, chunk), "H5Pset_chunk", a->name);
	hid_t space = hdf5_check(H5Screate_simple((int)a->rank, extent, NULL), "H5Screate_simple",
				 a->name);
	hid_t set = hdf5_check(
		H5Dcreate2(file, a->name, file_type(a->type), space, H5P_DEFAULT, how, H5P_DEFAULT),
		"H5Dcreate2", a->name);
	H5Sclose(space);
	H5Pclose(how);
	return set;
}
