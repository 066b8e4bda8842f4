/* S3D-IO in plain MPI-IO: the four variables one after another, no header. */
#include "s3d_run.h"

#include <limits.h>
#include <string.h>

static void check(int error, const char *call, const char *path)
{
	char why[MPI_MAX_ERROR_STRING];
	int length;

	if (error == MPI_SUCCESS)
		return;
	MPI_Error_string(error, why, &length);
	s3d_fail(call, path, why);
}

/* File and block are C-ordered: component, z, y, x. */
static MPI_Datatype block_type(const struct s3d_options *o, const struct s3d_block *b, unsigned v)
{
	int sizes[S3D_RANK], counts[S3D_RANK], starts[S3D_RANK];
	MPI_Datatype type;

	sizes[0] = counts[0] = (int)s3d_variables[v].components;
	starts[0] = 0;
	for (int i = 0; i < 3; i++) {
		sizes[3 - i] = (int)o->global[i];
		counts[3 - i] = (int)b->count[i];
		starts[3 - i] = (int)b->start[i];
	}
	MPI_Type_create_subarray(S3D_RANK, sizes, counts, starts, MPI_ORDER_C, MPI_DOUBLE, &type);
	MPI_Type_commit(&type);
	return type;
}

static int elements(const struct s3d_block *b, unsigned v, const char *path)
{
	size_t n = s3d_variables[v].components * s3d_points(b);

	if (n > INT_MAX)
		s3d_fail("block", path, "more elements than an int counts; use more ranks");
	return (int)n;
}

static void view(MPI_File file, const char *path, const struct s3d_options *o,
		 const struct s3d_block *b, unsigned v)
{
	MPI_Datatype type = block_type(o, b, v);
	MPI_Offset first = (MPI_Offset)(s3d_first(o, v) * sizeof(double));

	check(MPI_File_set_view(file, first, MPI_DOUBLE, type, "native", MPI_INFO_NULL),
	      "MPI_File_set_view", path);
	MPI_Type_free(&type);
}

static void whole(MPI_Status *status, int expected, const char *call, const char *path)
{
	int n;

	MPI_Get_count(status, MPI_DOUBLE, &n);
	if (n != expected)
		s3d_fail(call, path, "moved fewer elements than asked");
}

static void write_file(const char *path, const struct s3d_options *o, const struct s3d_block *b,
		       double *const data[], unsigned checkpoint, MPI_Info info)
{
	MPI_File file;
	MPI_Status status;

	(void)checkpoint;
	check(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, info, &file),
	      "MPI_File_open", path);
	for (unsigned v = 0; v < S3D_VARIABLES; v++) {
		int n = elements(b, v, path);
		view(file, path, o, b, v);
		if (o->independent)
			check(MPI_File_write(file, data[v], n, MPI_DOUBLE, &status),
			      "MPI_File_write", path);
		else
			check(MPI_File_write_all(file, data[v], n, MPI_DOUBLE, &status),
			      "MPI_File_write_all", path);
		whole(&status, n, "write", path);
	}
	check(MPI_File_close(&file), "MPI_File_close", path);
}

static void read_file(const char *path, const struct s3d_options *o, const struct s3d_block *b,
		      double *const data[], MPI_Info info)
{
	MPI_File file;
	MPI_Status status;

	check(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDONLY, info, &file), "MPI_File_open",
	      path);
	for (unsigned v = 0; v < S3D_VARIABLES; v++) {
		int n = elements(b, v, path);
		memset(data[v], 0xff, (size_t)n * sizeof(double));
		view(file, path, o, b, v);
		if (o->independent)
			check(MPI_File_read(file, data[v], n, MPI_DOUBLE, &status), "MPI_File_read",
			      path);
		else
			check(MPI_File_read_all(file, data[v], n, MPI_DOUBLE, &status),
			      "MPI_File_read_all", path);
		whole(&status, n, "read", path);
	}
	check(MPI_File_close(&file), "MPI_File_close", path);
}

int main(int argc, char **argv)
{
	static const struct s3d_form form = {"bin", write_file, read_file};

	return s3d_run(argc, argv, &form);
}
