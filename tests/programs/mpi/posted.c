/* Nonblocking collective writes and reads of interleaved pieces: one at a time, two that are under way together, one that
 * is tested for until it is there.
 *	posted FILE [INFO_KEY VALUE] */
#include <stdbool.h>
#include <string.h>

#include "check.h"

enum { PIECE = 1000, PIECES = 64, BYTES = PIECE * PIECES };

static char data[2][BYTES];

static MPI_File shared(const char *path, int count, char **words)
{
	MPI_Datatype piece, mine;
	MPI_File file;
	MPI_Info info;
	int rank, ranks;

	MPI_MUST(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
	MPI_MUST(MPI_Comm_size(MPI_COMM_WORLD, &ranks));
	MPI_MUST(MPI_Info_create(&info));
	if (count == 2)
		MPI_MUST(MPI_Info_set(info, words[0], words[1]));
	MPI_MUST(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, info, &file));
	MPI_MUST(MPI_Type_contiguous(PIECE, MPI_BYTE, &piece));
	MPI_MUST(MPI_Type_create_resized(piece, 0, (MPI_Aint)ranks * PIECE, &mine));
	MPI_MUST(MPI_Type_commit(&mine));
	MPI_MUST(MPI_File_set_view(file, (MPI_Offset)rank * PIECE, MPI_BYTE, mine, "native", info));
	MPI_MUST(MPI_Type_free(&piece));
	MPI_MUST(MPI_Type_free(&mine));
	MPI_MUST(MPI_Info_free(&info));
	memset(data, 'a' + rank, sizeof(data));
	return file;
}

static void write_all(MPI_File file)
{
	MPI_Request request[2];
	MPI_Status status[2];

	MPI_MUST(MPI_File_iwrite_all(file, data[0], BYTES, MPI_BYTE, &request[0]));
	MPI_MUST(MPI_Wait(&request[0], MPI_STATUS_IGNORE));
	for (int i = 0; i < 2; i++)
		MPI_MUST(MPI_File_iwrite_all(file, data[i], BYTES, MPI_BYTE, &request[i]));
	MPI_MUST(MPI_Waitall(2, request, status));
}

static void read_all(MPI_File file)
{
	MPI_Request request;
	int done = false;

	MPI_MUST(MPI_File_iread_at_all(file, BYTES, data[0], BYTES, MPI_BYTE, &request));
	while (!done)
		MPI_MUST(MPI_Test(&request, &done, MPI_STATUS_IGNORE));
}

int main(int count, char **words)
{
	MPI_MUST(MPI_Init(&count, &words));
	if (count != 2 && count != 4)
		MPI_Abort(MPI_COMM_WORLD, 2);
	MPI_File file = shared(words[1], count - 2, words + 2);
	write_all(file);
	MPI_MUST(MPI_Barrier(MPI_COMM_WORLD));
	read_all(file);
	MPI_MUST(MPI_File_close(&file));
	MPI_MUST(MPI_Finalize());
	return 0;
}
