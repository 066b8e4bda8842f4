/* What the HDF5 forms, parallel and serial, have in common: file space and attributes. */
#ifndef S3D_LAYOUT_H
#define S3D_LAYOUT_H

#include <hdf5.h>

#include "s3d.h"

/* The variable in the file, with the block selected. Negative on error. */
static inline hid_t s3d_file_space(const struct s3d_options *o, const struct s3d_block *b,
				   unsigned v)
{
	hsize_t extent[S3D_RANK] = {s3d_variables[v].components};
	hsize_t start[S3D_RANK] = {0};
	hsize_t count[S3D_RANK] = {s3d_variables[v].components};

	for (int i = 0; i < 3; i++) {
		extent[3 - i] = o->global[i];
		start[3 - i] = b->start[i];
		count[3 - i] = b->count[i];
	}
	/* pressure and temp have no component: three dimensions */
	int first = s3d_variables[v].components == 1;
	hid_t space = H5Screate_simple(S3D_RANK - first, extent + first, NULL);
	if (space >= 0 && H5Sselect_hyperslab(space, H5S_SELECT_SET, start + first, NULL,
					      count + first, NULL) < 0) {
		H5Sclose(space);
		return H5I_INVALID_HID;
	}
	return space;
}

static inline bool s3d_attribute(hid_t file, const char *name, double value)
{
	hid_t space = H5Screate(H5S_SCALAR);
	hid_t attribute = H5Acreate2(file, name, H5T_IEEE_F64LE, space, H5P_DEFAULT, H5P_DEFAULT);
	bool good = attribute >= 0 && H5Awrite(attribute, H5T_NATIVE_DOUBLE, &value) >= 0;

	if (attribute >= 0)
		H5Aclose(attribute);
	H5Sclose(space);
	return good;
}

static inline bool s3d_attributes(hid_t file, unsigned checkpoint)
{
	return s3d_attribute(file, "time", s3d_time(checkpoint)) &&
	       s3d_attribute(file, "tstep", 0.25) && s3d_attribute(file, "time_save", 0.25);
}

#endif
