/* Views of every kind, and each way to say where: explicit offsets, individual pointers, shared pointers.
 *
 * What the trace must show: for each call the absolute byte of its first byte, worked out from the view
 * without asking the MPI; the program prints what MPI_File_get_byte_offset says of the same place. */
#include "mpi/check.h"

enum { DOUBLES = 8, FILL = 64 };

static MPI_File file;
static double data[FILL];
static int rank, ranks;

static void tell(const char *what)
{
	MPI_Offset position, byte;

	MPI_MUST(MPI_File_get_position(file, &position));
	MPI_MUST(MPI_File_get_byte_offset(file, position, &byte));
	if (rank == 1)
		printf("%s %lld\n", what, (long long)byte);
}

static void through(MPI_Datatype filetype, MPI_Offset displacement, const char *what)
{
	MPI_MUST(MPI_Type_commit(&filetype));
	MPI_MUST(MPI_File_set_view(file, displacement, MPI_DOUBLE, filetype, "native",
				   MPI_INFO_NULL));
	tell(what);
	MPI_MUST(MPI_File_write_all(file, data, DOUBLES, MPI_DOUBLE, MPI_STATUS_IGNORE));
	tell(what);
	MPI_MUST(MPI_File_write(file, data, DOUBLES, MPI_DOUBLE, MPI_STATUS_IGNORE));
	MPI_MUST(MPI_File_seek(file, -3, MPI_SEEK_CUR));
	tell(what);
	MPI_MUST(MPI_File_read(file, data, 1, MPI_DOUBLE, MPI_STATUS_IGNORE));
	MPI_MUST(MPI_Type_free(&filetype));
}

static MPI_Datatype box(void)
{
	const int all[3] = {4, 4, 8}, part[3] = {2, 2, 4}, first[3] = {1, rank % 2 * 2, 2};
	MPI_Datatype type;

	MPI_MUST(MPI_Type_create_subarray(3, all, part, first, MPI_ORDER_FORTRAN, MPI_DOUBLE,
					  &type));
	return type;
}

static MPI_Datatype scattered(void)
{
	const int length[3] = {1, 2, 1},
		  place[3] = {rank * 4, ranks * 4 + rank * 4, ranks * 9 + rank};
	MPI_Datatype indexed, type;

	MPI_MUST(MPI_Type_indexed(3, length, place, MPI_DOUBLE, &indexed));
	MPI_MUST(MPI_Type_create_resized(indexed, 0, ranks * 10 * 8, &type));
	MPI_MUST(MPI_Type_free(&indexed));
	return type;
}

int main(int argc, char **argv)
{
	MPI_Datatype rows, plain;

	MPI_MUST(MPI_Init(&argc, &argv));
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	MPI_MUST(MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR,
			       MPI_INFO_NULL, &file));
	MPI_MUST(MPI_Type_vector(4, 2, 2 * ranks, MPI_DOUBLE, &rows));
	through(rows, 1000 + rank * 16, "vector");
	through(box(), 8, "box");
	through(scattered(), 0, "scattered");
	MPI_MUST(MPI_Type_contiguous(3, MPI_DOUBLE, &plain));
	through(plain, 8 * rank, "plain");
	MPI_MUST(MPI_File_close(&file));
	MPI_Finalize();
	return 0;
}
