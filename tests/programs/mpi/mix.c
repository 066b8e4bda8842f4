/* The files of a step of a code like ATHENA: a checkpoint, each rank's part in one piece; a plot, each rank's part in
 * columns; particles, each rank's here and there in a large file. All by collective calls.
 *
 *	mix FOLDER */
#include <string.h>

#include "check.h"

enum {
	PART = 1 << 20, /* bytes of a rank's checkpoint */
	ROWS = 256,     /* of a plot, and of each the bytes of a rank */
	CELLS = 64,
	FEW = 8, /* particles of a rank, and bytes from one to the next of any */
	FAR = 512 << 10,
	PARTICLE = 64,
	NAME = 4096,
};

static int rank, ranks;
static char data[PART];

static MPI_File opened(const char *folder, const char *kind)
{
	char name[NAME];
	MPI_File file;

	snprintf(name, sizeof(name), "%s/%s.0", folder, kind);
	MPI_MUST(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL,
			       &file));
	return file;
}

static void checkpoint(const char *folder)
{
	MPI_File file = opened(folder, "restart");

	MPI_MUST(MPI_File_write_at_all(file, (MPI_Offset)rank * PART, data, PART, MPI_BYTE,
				       MPI_STATUS_IGNORE));
	MPI_MUST(MPI_File_close(&file));
}

/* Of the size that it will have: between particles there is nothing but zeros. */
static MPI_File prepared(MPI_File file)
{
	MPI_MUST(MPI_File_set_size(file, (MPI_Offset)FEW * FAR * ranks));
	return file;
}

/* Runs of `length` bytes of each rank, in turn, `apart` bytes from one to the next of any. */
static void in_turn(MPI_File file, int count, int length, int apart)
{
	MPI_Datatype runs;

	MPI_MUST(MPI_Type_create_hvector(count, length, (MPI_Aint)apart * ranks, MPI_BYTE, &runs));
	MPI_MUST(MPI_Type_commit(&runs));
	MPI_MUST(MPI_File_set_view(file, (MPI_Offset)rank * apart, MPI_BYTE, runs, "native",
				   MPI_INFO_NULL));
	MPI_MUST(MPI_Type_free(&runs));
	MPI_MUST(MPI_File_write_all(file, data, count * length, MPI_BYTE, MPI_STATUS_IGNORE));
	MPI_MUST(MPI_File_close(&file));
}

int main(int argc, char **argv)
{
	MPI_MUST(MPI_Init(&argc, &argv));
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	memset(data, 'a' + rank, sizeof(data));
	if (argc == 2) {
		checkpoint(argv[1]);
		in_turn(opened(argv[1], "plot"), ROWS, CELLS, CELLS);
		in_turn(prepared(opened(argv[1], "particles")), FEW, PARTICLE, FAR);
	}
	MPI_Finalize();
	return 0;
}
