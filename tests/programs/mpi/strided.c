/* Strided independent I/O and atomic mode, as the MPI standard has them: data sieving and locks in ROMIO.
 *
 *	strided FILE
 *
 * Ends with 1 and a line where a rank reads what no order of the writes can have left. */
#include "check.h"

enum {
	BLOCK = 7,     /* ints */
	BLOCKS = 4000, /* of a rank */
	TURNS = 6,     /* of each kind */
};

static int rank, ranks, data[BLOCK * BLOCKS];

static void wrong(const char *what, int turn, int at, int actual)
{
	fprintf(stderr, "rank %d: %s, turn %d: int %d is %d\n", rank, what, turn, at, actual);
	MPI_Abort(MPI_COMM_WORLD, 1);
}

/* Every `ranks`th block of the file, from the block of `whose` on. */
static void see_blocks_of(MPI_File file, int whose)
{
	MPI_Datatype blocks;

	MPI_MUST(MPI_Type_vector(BLOCKS, BLOCK, BLOCK * ranks, MPI_INT, &blocks));
	MPI_MUST(MPI_Type_commit(&blocks));
	MPI_MUST(MPI_File_set_view(file, (MPI_Offset)whose * BLOCK * (MPI_Offset)sizeof(int),
				   MPI_INT, blocks, "native", MPI_INFO_NULL));
	MPI_MUST(MPI_Type_free(&blocks));
}

/* Each rank's blocks lie between the others', and each writes its own alone. */
static void interleaved(MPI_File file, int turn)
{
	const int other = (rank + 1) % ranks;

	for (int i = 0; i < BLOCK * BLOCKS; i++)
		data[i] = turn * 1000000 + rank * 100000 + i;
	see_blocks_of(file, rank);
	MPI_MUST(MPI_Barrier(MPI_COMM_WORLD));
	MPI_MUST(MPI_File_write(file, data, BLOCK * BLOCKS, MPI_INT, MPI_STATUS_IGNORE));
	MPI_MUST(MPI_File_sync(file));
	MPI_MUST(MPI_Barrier(MPI_COMM_WORLD));
	MPI_MUST(MPI_File_sync(file));
	see_blocks_of(file, other);
	MPI_MUST(MPI_File_read(file, data, BLOCK * BLOCKS, MPI_INT, MPI_STATUS_IGNORE));
	for (int i = 0; i < BLOCK * BLOCKS; i++)
		if (data[i] != turn * 1000000 + other * 100000 + i)
			wrong("strided", turn, i, data[i]);
	MPI_MUST(MPI_Barrier(MPI_COMM_WORLD));
}

static void all_equal(const char *what, int turn)
{
	for (int i = 1; i < BLOCK * BLOCKS; i++)
		if (data[i] != data[0])
			wrong(what, turn, i, data[i]);
}

/* All write the same blocks at once, and read them while others may still write: each time all are one rank's. */
static void atomic_turn(MPI_File file, int turn)
{
	for (int i = 0; i < BLOCK * BLOCKS; i++)
		data[i] = turn * 100 + rank;
	MPI_MUST(MPI_Barrier(MPI_COMM_WORLD));
	MPI_MUST(MPI_File_write_at(file, 0, data, BLOCK * BLOCKS, MPI_INT, MPI_STATUS_IGNORE));
	MPI_MUST(MPI_File_read_at(file, 0, data, BLOCK * BLOCKS, MPI_INT, MPI_STATUS_IGNORE));
	all_equal("atomic mode", turn);
	if (data[0] / 100 != turn)
		wrong("atomic mode, older than one's own write", turn, 0, data[0]);
	MPI_MUST(MPI_Barrier(MPI_COMM_WORLD));
}

static void atomic_mode(MPI_File file)
{
	MPI_MUST(MPI_File_set_atomicity(file, 1));
	MPI_MUST(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
	for (int turn = 1; turn <= TURNS; turn++)
		atomic_turn(file, turn);
	see_blocks_of(file, 1);
	for (int turn = TURNS + 1; turn <= 2 * TURNS; turn++)
		atomic_turn(file, turn);
}

int main(int argc, char **argv)
{
	MPI_File file;
	MPI_Info info;

	MPI_MUST(MPI_Init(&argc, &argv));
	MPI_MUST(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
	MPI_MUST(MPI_Comm_size(MPI_COMM_WORLD, &ranks));
	MPI_MUST(MPI_Info_create(&info));
	MPI_MUST(MPI_Info_set(info, "romio_ds_write", "enable"));
	MPI_MUST(MPI_Info_set(info, "romio_ds_read", "enable"));
	MPI_MUST(MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, info,
			       &file));
	for (int turn = 0; turn < TURNS; turn++)
		interleaved(file, turn);
	atomic_mode(file);
	MPI_MUST(MPI_File_close(&file));
	MPI_MUST(MPI_Info_free(&info));
	MPI_MUST(MPI_Finalize());
	return 0;
}
