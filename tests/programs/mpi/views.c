/* Interleaved file views and memory with holes, by each blocking call that moves data.
 *
 *	views FILE
 *
 * Each rank makes 4 writes and 5 reads of BLOCKS pieces, and ends with 1 and a line where it reads something else than
 * was written, or where a count or a position is not what the standard says. */
#include "check.h"

enum {
	BLOCK = 5,    /* ints */
	BLOCKS = 500, /* of a rank in one call */
	INTS = BLOCK * BLOCKS,
	CALLS = 4,
};

static int rank, ranks, spread[2 * INTS];
static MPI_Datatype holes; /* every second int of memory */

static void must_be(const char *what, long long actual, long long wanted)
{
	if (actual == wanted)
		return;
	fprintf(stderr, "rank %d: %s is %lld, not %lld\n", rank, what, actual, wanted);
	MPI_Abort(MPI_COMM_WORLD, 1);
}

static int value(int whose, int turn, int i)
{
	return whose * 1000000 + turn * 100000 + i;
}

static void fill(int turn)
{
	for (int i = 0; i < INTS; i++) {
		spread[2 * i] = value(rank, turn, i);
		spread[2 * i + 1] = -1;
	}
}

static void must_have(int whose, int turn, int from, int to)
{
	for (int i = from; i < to; i++) {
		must_be("what was read", spread[2 * i], value(whose, turn, i));
		must_be("a hole", spread[2 * i + 1], -1);
	}
}

static void must_count(const MPI_Status *status, int wanted)
{
	int count;

	MPI_MUST(MPI_Get_count(status, MPI_INT, &count));
	must_be("the status's count", count, wanted);
}

static void must_stand(MPI_File file, MPI_Offset wanted)
{
	MPI_Offset at;

	MPI_MUST(MPI_File_get_position(file, &at));
	must_be("the position", at, wanted);
}

/* Every `ranks`th block of the file behind its header, from the block of `whose` on. */
static void see_blocks_of(MPI_File file, int whose)
{
	MPI_Datatype block, blocks;
	const MPI_Aint period = (MPI_Aint)(BLOCK * (size_t)ranks * sizeof(int));

	MPI_MUST(MPI_Type_contiguous(BLOCK, MPI_INT, &block));
	MPI_MUST(MPI_Type_create_resized(block, 0, period, &blocks));
	MPI_MUST(MPI_Type_commit(&blocks));
	MPI_MUST(MPI_File_set_view(file, 100 + (MPI_Offset)whose * BLOCK * (MPI_Offset)sizeof(int),
				   MPI_INT, blocks, "native", MPI_INFO_NULL));
	MPI_MUST(MPI_Type_free(&blocks));
	MPI_MUST(MPI_Type_free(&block));
}

static void write_each_way(MPI_File file)
{
	MPI_Status status;

	see_blocks_of(file, rank);
	fill(0);
	MPI_MUST(MPI_File_write_all(file, spread, 1, holes, &status));
	must_count(&status, INTS);
	must_stand(file, INTS);
	fill(1);
	MPI_MUST(MPI_File_write(file, spread, 1, holes, MPI_STATUS_IGNORE));
	must_stand(file, 2 * (MPI_Offset)INTS);
	fill(2);
	MPI_MUST(MPI_File_write_at_all(file, 2 * (MPI_Offset)INTS, spread, 1, holes, &status));
	must_count(&status, INTS);
	fill(3);
	MPI_MUST(MPI_File_write_at(file, 3 * (MPI_Offset)INTS, spread, 1, holes, &status));
	must_stand(file, 2 * (MPI_Offset)INTS);
}

static void read_each_way(MPI_File file, int whose)
{
	MPI_Status status;

	see_blocks_of(file, whose);
	fill(9);
	MPI_MUST(MPI_File_read_all(file, spread, 1, holes, &status));
	must_count(&status, INTS);
	must_have(whose, 0, 0, INTS);
	MPI_MUST(MPI_File_read(file, spread, 1, holes, MPI_STATUS_IGNORE));
	must_have(whose, 1, 0, INTS);
	MPI_MUST(MPI_File_read_at_all(file, 2 * (MPI_Offset)INTS, spread, 1, holes, &status));
	must_have(whose, 2, 0, INTS);
	MPI_MUST(MPI_File_read_at(file, 3 * (MPI_Offset)INTS, spread, 1, holes, &status));
	must_have(whose, 3, 0, INTS);
}

/* ROMIO counts what lies beyond the end too where a view has holes. */
static void read_beyond_the_end(MPI_File file)
{
	MPI_Status status;
	const MPI_Offset header = 100 / sizeof(int),
			 end = header + CALLS * (MPI_Offset)INTS * ranks;

	MPI_MUST(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
	MPI_MUST(MPI_File_seek(file, end - BLOCK, MPI_SEEK_SET));
	MPI_MUST(MPI_File_read(file, spread, INTS, MPI_INT, &status));
	must_count(&status, BLOCK);
	must_be("the last block", spread[BLOCK - 1], value(ranks - 1, CALLS - 1, INTS - 1));
}

int main(int argc, char **argv)
{
	MPI_File file;

	(void)argc;
	MPI_MUST(MPI_Init(&argc, &argv));
	MPI_MUST(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
	MPI_MUST(MPI_Comm_size(MPI_COMM_WORLD, &ranks));
	MPI_MUST(MPI_Type_vector(INTS, 1, 2, MPI_INT, &holes));
	MPI_MUST(MPI_Type_commit(&holes));
	MPI_MUST(MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR,
			       MPI_INFO_NULL, &file));
	write_each_way(file);
	MPI_MUST(MPI_File_sync(file));
	MPI_MUST(MPI_Barrier(MPI_COMM_WORLD));
	MPI_MUST(MPI_File_sync(file));
	read_each_way(file, (rank + 1) % ranks);
	read_beyond_the_end(file);
	MPI_MUST(MPI_File_close(&file));
	MPI_MUST(MPI_Type_free(&holes));
	MPI_MUST(MPI_Finalize());
	return 0;
}
