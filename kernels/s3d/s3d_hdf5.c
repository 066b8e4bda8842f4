/* S3D-IO in parallel HDF5: one contiguous dataset per variable, one hyperslab per rank. */
#include "s3d_run.h"

#include <string.h>

#include "s3d_layout.h"

static hid_t checked(hid_t id, const char *call, const char *object)
{
	if (id < 0)
		s3d_fail(call, object, "HDF5 error, see its report above");
	return id;
}

static hid_t access_list(MPI_Info info)
{
	hid_t list = checked(H5Pcreate(H5P_FILE_ACCESS), "H5Pcreate", "file access");

	checked(H5Pset_fapl_mpio(list, MPI_COMM_WORLD, info), "H5Pset_fapl_mpio", "file access");
	return list;
}

static hid_t transfer_list(const struct s3d_options *o)
{
	hid_t list = checked(H5Pcreate(H5P_DATASET_XFER), "H5Pcreate", "transfer");

	checked(H5Pset_dxpl_mpio(list,
				 o->independent ? H5FD_MPIO_INDEPENDENT : H5FD_MPIO_COLLECTIVE),
		"H5Pset_dxpl_mpio", "transfer");
	return list;
}

static hid_t memory_space(const struct s3d_block *b, unsigned v)
{
	hsize_t n = s3d_variables[v].components * s3d_points(b);

	return checked(H5Screate_simple(1, &n, NULL), "H5Screate_simple", "memory");
}

static void write_variable(hid_t file, hid_t transfer, const struct s3d_options *o,
			   const struct s3d_block *b, unsigned v, const double *data)
{
	const char *name = s3d_variables[v].name;
	hid_t space = checked(s3d_file_space(o, b, v), "H5Sselect_hyperslab", name);
	hid_t memory = memory_space(b, v);
	hid_t set = checked(H5Dcreate2(file, name, H5T_IEEE_F64LE, space, H5P_DEFAULT, H5P_DEFAULT,
				       H5P_DEFAULT),
			    "H5Dcreate2", name);

	checked(H5Dwrite(set, H5T_NATIVE_DOUBLE, memory, space, transfer, data), "H5Dwrite", name);
	checked(H5Dclose(set), "H5Dclose", name);
	H5Sclose(memory);
	H5Sclose(space);
}

static void write_file(const char *path, const struct s3d_options *o, const struct s3d_block *b,
		       double *const data[], unsigned checkpoint, MPI_Info info)
{
	hid_t access = access_list(info);
	hid_t transfer = transfer_list(o);
	hid_t file =
		checked(H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, access), "H5Fcreate", path);

	if (!s3d_attributes(file, checkpoint))
		s3d_fail("H5Awrite", path, "HDF5 error, see its report above");
	for (unsigned v = 0; v < S3D_VARIABLES; v++)
		write_variable(file, transfer, o, b, v, data[v]);
	checked(H5Fclose(file), "H5Fclose", path);
	H5Pclose(transfer);
	H5Pclose(access);
}

static void read_variable(hid_t file, hid_t transfer, const struct s3d_options *o,
			  const struct s3d_block *b, unsigned v, double *data)
{
	const char *name = s3d_variables[v].name;
	hid_t space = checked(s3d_file_space(o, b, v), "H5Sselect_hyperslab", name);
	hid_t memory = memory_space(b, v);
	hid_t set = checked(H5Dopen2(file, name, H5P_DEFAULT), "H5Dopen2", name);

	memset(data, 0xff, s3d_variables[v].components * s3d_points(b) * sizeof(*data));
	checked(H5Dread(set, H5T_NATIVE_DOUBLE, memory, space, transfer, data), "H5Dread", name);
	checked(H5Dclose(set), "H5Dclose", name);
	H5Sclose(memory);
	H5Sclose(space);
}

static void read_file(const char *path, const struct s3d_options *o, const struct s3d_block *b,
		      double *const data[], MPI_Info info)
{
	hid_t access = access_list(info);
	hid_t transfer = transfer_list(o);
	hid_t file = checked(H5Fopen(path, H5F_ACC_RDONLY, access), "H5Fopen", path);

	for (unsigned v = 0; v < S3D_VARIABLES; v++)
		read_variable(file, transfer, o, b, v, data[v]);
	checked(H5Fclose(file), "H5Fclose", path);
	H5Pclose(transfer);
	H5Pclose(access);
}

int main(int argc, char **argv)
{
	static const struct s3d_form form = {"h5", write_file, read_file};

	return s3d_run(argc, argv, &form);
}
