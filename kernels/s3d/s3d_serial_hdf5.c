/* The same files as s3d_hdf5, by one process with serial HDF5: the oracle, dataset by dataset. */
#include <stdio.h>
#include <stdlib.h>

#include "s3d_layout.h"

static bool write_variable(hid_t file, const struct s3d_options *o, const struct s3d_block *whole,
			   unsigned v, unsigned checkpoint)
{
	hid_t space = s3d_file_space(o, whole, v);
	hid_t set = H5Dcreate2(file, s3d_variables[v].name, H5T_IEEE_F64LE, space, H5P_DEFAULT,
			       H5P_DEFAULT, H5P_DEFAULT);
	double *data = malloc(s3d_variables[v].components * s3d_points(whole) * sizeof(*data));
	bool good = set >= 0 && data;

	if (good) {
		s3d_fill(data, o, whole, v, checkpoint);
		good = H5Dwrite(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0;
	}
	free(data);
	if (set >= 0)
		H5Dclose(set);
	H5Sclose(space);
	return good;
}

static bool write_file(const char *path, const struct s3d_options *o, unsigned checkpoint)
{
	struct s3d_block whole = s3d_block(o, -1);
	hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
	bool good = file >= 0 && s3d_attributes(file, checkpoint);

	for (unsigned v = 0; good && v < S3D_VARIABLES; v++)
		good = write_variable(file, o, &whole, v, checkpoint);
	if (file >= 0 && H5Fclose(file) < 0)
		good = false;
	if (!good)
		fprintf(stderr, "%s: HDF5 could not write it\n", path);
	return good;
}

int main(int argc, char **argv)
{
	struct s3d_options o;
	char path[4096];

	if (!s3d_options(&o, argc, argv, true))
		return 2;
	for (unsigned checkpoint = 0; checkpoint < o.checkpoints; checkpoint++) {
		s3d_path(path, sizeof(path), &o, checkpoint, "h5");
		if (!write_file(path, &o, checkpoint))
			return 1;
	}
	return 0;
}
