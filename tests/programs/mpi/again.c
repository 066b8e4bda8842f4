/* Ways of MPI-IO that a replay must make as they were:
 *	again split|shared|ordered|turns|gap|asked|failed|atomic DIRECTORY */
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "check.h"

enum { PIECE = 1000, PIECES = 16, BYTES = PIECE * PIECES };

static char data[BYTES], back[BYTES];
static const char *directory;
static int rank, ranks;

static const char *in_directory(const char *name)
{
	static char path[4096];

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	return path;
}

static MPI_File opened(const char *name)
{
	MPI_File file;

	MPI_MUST(MPI_File_open(MPI_COMM_WORLD, in_directory(name), MPI_MODE_CREATE | MPI_MODE_RDWR,
			       MPI_INFO_NULL, &file));
	return file;
}

static void moved(const MPI_Status *status, int expected)
{
	int bytes;

	MPI_MUST(MPI_Get_count(status, MPI_BYTE, &bytes));
	if (bytes != expected)
		MPI_MUST(MPI_ERR_OTHER);
}

/* Each way of split collective calls, with work between its halves. */
static void split(void)
{
	MPI_File file = opened("split");
	MPI_Status status;
	MPI_Offset mine = (MPI_Offset)rank * BYTES;

	MPI_MUST(MPI_File_write_at_all_begin(file, mine, data, BYTES, MPI_BYTE));
	MPI_MUST(MPI_File_write_at_all_end(file, data, &status));
	MPI_MUST(MPI_File_seek(file, mine, MPI_SEEK_SET));
	MPI_MUST(MPI_File_read_all_begin(file, back, BYTES, MPI_BYTE));
	MPI_MUST(MPI_File_read_all_end(file, back, &status));
	moved(&status, BYTES);
	MPI_MUST(MPI_File_seek(file, (ranks + rank) * BYTES, MPI_SEEK_SET));
	MPI_MUST(MPI_File_write_all_begin(file, data, BYTES, MPI_BYTE));
	MPI_MUST(MPI_File_write_all_end(file, data, &status));
	MPI_MUST(MPI_File_read_at_all_begin(file, mine, back, BYTES, MPI_BYTE));
	MPI_MUST(MPI_File_read_at_all_end(file, back, MPI_STATUS_IGNORE));
	MPI_MUST(MPI_File_write_ordered_begin(file, data, PIECE, MPI_BYTE));
	MPI_MUST(MPI_File_write_ordered_end(file, data, &status));
	MPI_MUST(MPI_File_close(&file));
}

/* The shared pointer: all write, all come to a barrier, it goes back to the start, all read. */
static void shared(void)
{
	MPI_File file = opened("shared");
	MPI_Status status;

	MPI_MUST(MPI_File_write_shared(file, data, PIECE, MPI_BYTE, &status));
	MPI_MUST(MPI_Barrier(MPI_COMM_WORLD));
	MPI_MUST(MPI_File_seek_shared(file, 0, MPI_SEEK_SET));
	MPI_MUST(MPI_File_read_shared(file, back, PIECE, MPI_BYTE, &status));
	moved(&status, PIECE);
	MPI_MUST(MPI_File_close(&file));
}

static void ordered(void)
{
	MPI_File file = opened("ordered");
	MPI_Status status;

	MPI_MUST(MPI_File_write_ordered(file, data, PIECE * (rank + 1), MPI_BYTE, &status));
	MPI_MUST(MPI_File_write_ordered(file, data, PIECE, MPI_BYTE, &status));
	MPI_MUST(MPI_File_seek_shared(file, 0, MPI_SEEK_SET));
	MPI_MUST(MPI_File_read_ordered(file, back, PIECE * (rank + 1), MPI_BYTE, &status));
	moved(&status, PIECE * (rank + 1));
	MPI_MUST(MPI_File_close(&file));
}

/* The shared pointer by turns: the last rank first. */
static void turns(void)
{
	MPI_File file = opened("turns");
	MPI_Status status;

	for (int turn = ranks - 1; turn >= 0; turn--) {
		if (turn == rank)
			MPI_MUST(MPI_File_write_shared(file, data, PIECE * (rank + 1), MPI_BYTE,
						       &status));
		MPI_MUST(MPI_Barrier(MPI_COMM_WORLD));
	}
	MPI_MUST(MPI_File_close(&file));
}

/* A view of pieces of which the first is not at 0, and whose type begins there, too. */
static void gap(void)
{
	MPI_File file = opened("gap");
	MPI_Datatype mine;
	MPI_Status status;
	int lengths[] = {PIECE, PIECE}, places[] = {3 * PIECE, 5 * PIECE};

	MPI_MUST(MPI_File_set_size(file, (MPI_Offset)ranks * 4 * BYTES));
	MPI_MUST(MPI_Type_indexed(2, lengths, places, MPI_BYTE, &mine));
	MPI_MUST(MPI_Type_commit(&mine));
	MPI_MUST(
		MPI_File_set_view(file, rank * 4 * BYTES, MPI_BYTE, mine, "native", MPI_INFO_NULL));
	MPI_MUST(MPI_Type_free(&mine));
	MPI_MUST(MPI_File_write(file, data, BYTES, MPI_BYTE, &status));
	MPI_MUST(MPI_File_read_at(file, 0, back, BYTES, MPI_BYTE, &status));
	moved(&status, BYTES);
	MPI_MUST(MPI_File_write_at_all(file, 2 * PIECE, data, BYTES, MPI_BYTE, &status));
	MPI_MUST(MPI_File_close(&file));
}

/* Directories that are only asked for, one with files and one without. */
static void asked(void)
{
	struct stat attributes;
	struct statfs volume;

	if (rank == 0) {
		mkdir(in_directory("full"), 0755);
		mkdir(in_directory("empty"), 0755);
	}
	MPI_MUST(MPI_Barrier(MPI_COMM_WORLD));
	if (stat(in_directory("full"), &attributes) != 0 ||
	    statfs(in_directory("empty"), &volume) != 0)
		MPI_MUST(MPI_ERR_OTHER);
	MPI_File file = opened("full/data");

	MPI_MUST(MPI_File_write_at(file, rank * PIECE, data, PIECE, MPI_BYTE, MPI_STATUS_IGNORE));
	MPI_MUST(MPI_File_close(&file));
}

/* A file that is not there, opened to see whether it is; and one that may not be there and is. */
static void failed(void)
{
	MPI_File file, none;

	if (MPI_File_open(MPI_COMM_WORLD, in_directory("absent"), MPI_MODE_RDONLY, MPI_INFO_NULL,
			  &none) == MPI_SUCCESS)
		MPI_MUST(MPI_ERR_OTHER);
	file = opened("present");
	MPI_MUST(MPI_File_write_at_all(file, rank * PIECE, data, PIECE, MPI_BYTE,
				       MPI_STATUS_IGNORE));
	MPI_MUST(MPI_File_close(&file));
	if (MPI_File_open(MPI_COMM_WORLD, in_directory("present"),
			  MPI_MODE_CREATE | MPI_MODE_EXCL | MPI_MODE_WRONLY, MPI_INFO_NULL,
			  &none) == MPI_SUCCESS)
		MPI_MUST(MPI_ERR_OTHER);
}

/* In atomic mode what one has written another reads. */
static void atomic(void)
{
	MPI_File file = opened("atomic");

	MPI_MUST(MPI_File_set_atomicity(file, 1));
	MPI_MUST(MPI_File_write_at(file, rank * PIECE, data, PIECE, MPI_BYTE, MPI_STATUS_IGNORE));
	MPI_MUST(MPI_Barrier(MPI_COMM_WORLD));
	MPI_MUST(MPI_File_read_at(file, (rank + 1) % ranks * PIECE, back, PIECE, MPI_BYTE,
				  MPI_STATUS_IGNORE));
	MPI_MUST(MPI_File_set_atomicity(file, 0));
	MPI_MUST(MPI_File_close(&file));
}

int main(int count, char **words)
{
	static const struct {
		const char *name;
		void (*make)(void);
	} ways[] = {
		{"split", split}, {"shared", shared}, {"ordered", ordered}, {"turns", turns},
		{"gap", gap},     {"asked", asked},   {"failed", failed},   {"atomic", atomic},
	};

	MPI_MUST(MPI_Init(&count, &words));
	MPI_MUST(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
	MPI_MUST(MPI_Comm_size(MPI_COMM_WORLD, &ranks));
	if (count != 3)
		MPI_Abort(MPI_COMM_WORLD, 2);
	directory = words[2];
	memset(data, 'a' + rank, sizeof(data));
	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++)
		if (strcmp(words[1], ways[i].name) == 0)
			ways[i].make();
	MPI_MUST(MPI_Finalize());
	return 0;
}
