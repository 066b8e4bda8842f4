/* What goes wrong with MPI-IO, and the same work mended: mpi_io_mistakes WHAT HOW FILE.
 *
 *	sieve     on | off       few pieces far apart, read through large buffers or piece by piece
 *	rewrite   on | off       the same written: whole stretches are read, changed and written, or pieces written
 *	together  on | off       by collective calls, in which each rank writes its own
 *	hints     lost | held    a hint that is misspelt, or one that is known
 *	reopen    each | once    the file is opened for each step, or for all
 *	views     each | once    the view is set for each step, or once
 *	pieces    small | large  a part is written in pieces of 1 KiB, or of 512 KiB
 *	parts     all | own      behind a header of rank 0, parts are written by calls of all ranks, or by each rank's own
 *
 * Each rank has a part of the file of its own. */
#include <stdbool.h>
#include <string.h>

#include "mpi/check.h"

enum { PIECE = 128 << 10, STRIDE = 2 << 20, PIECES = 24, STEPS = 40, STEP = 4 << 10 };
/* So many that a rank which loses its processor once does not hide them. */
enum { VIEWS = 60000, VIEW = 512 };

static struct {
	const char *path;
	bool wrong;
	int rank;
	MPI_Info info;
} job;

static char data[PIECE * PIECES];

static MPI_File opened(void)
{
	MPI_File file;

	MPI_MUST(MPI_File_open(MPI_COMM_WORLD, job.path, MPI_MODE_CREATE | MPI_MODE_RDWR, job.info,
			       &file));
	return file;
}

static MPI_Offset own_part(MPI_Offset bytes)
{
	return (MPI_Offset)job.rank * bytes;
}

static void pieces_view(MPI_File file)
{
	MPI_Datatype type;

	MPI_MUST(MPI_Type_vector(PIECES, PIECE, STRIDE, MPI_BYTE, &type));
	MPI_MUST(MPI_Type_commit(&type));
	MPI_MUST(MPI_File_set_view(file, own_part((MPI_Offset)PIECES * STRIDE), MPI_BYTE, type,
				   "native", MPI_INFO_NULL));
	MPI_Type_free(&type);
}

typedef int writer(MPI_File file, const void *data, int count, MPI_Datatype type,
		   MPI_Status *status);

static void sieve(writer *write_it)
{
	char reads[] = "romio_ds_read", writes[] = "romio_ds_write";
	char enable[] = "enable", disable[] = "disable";
	MPI_File file;

	MPI_MUST(MPI_Info_set(job.info, write_it ? writes : reads, job.wrong ? enable : disable));
	file = opened();
	MPI_MUST(MPI_File_set_size(file, 4ll * PIECES * STRIDE));
	pieces_view(file);
	MPI_MUST(write_it ? write_it(file, data, sizeof(data), MPI_BYTE, MPI_STATUS_IGNORE)
			  : MPI_File_read(file, data, sizeof(data), MPI_BYTE, MPI_STATUS_IGNORE));
	MPI_MUST(MPI_File_close(&file));
}

static void pieces(int bytes)
{
	MPI_File file = opened();

	for (int at = 0; at < 1 << 20; at += bytes)
		MPI_MUST(MPI_File_write_at(file, own_part(1 << 20) + at, data, bytes, MPI_BYTE,
					   MPI_STATUS_IGNORE));
	MPI_MUST(MPI_File_close(&file));
}

static void step(MPI_File file, int n)
{
	MPI_MUST(MPI_File_write_at(file, own_part(STEPS * STEP) + n * STEP, data, STEP, MPI_BYTE,
				   MPI_STATUS_IGNORE));
}

static void hints(void)
{
	char wrong[] = "cb_bufer_size", right[] = "cb_buffer_size", value[] = "4194304";
	MPI_File file;

	MPI_MUST(MPI_Info_set(job.info, job.wrong ? wrong : right, value));
	file = opened();
	step(file, 0);
	MPI_MUST(MPI_File_close(&file));
}

static void reopen(void)
{
	MPI_File file = MPI_FILE_NULL;

	for (int n = 0; n < STEPS; n++) {
		if (file == MPI_FILE_NULL)
			file = opened();
		step(file, n);
		if (job.wrong || n + 1 == STEPS)
			MPI_MUST(MPI_File_close(&file));
	}
}

static void views(void)
{
	MPI_File file = opened();
	MPI_Datatype type;

	MPI_MUST(MPI_Type_contiguous(VIEW, MPI_BYTE, &type));
	MPI_MUST(MPI_Type_commit(&type));
	for (int n = 0; n < VIEWS; n++) {
		const MPI_Offset at = own_part(VIEWS * VIEW) + (job.wrong ? n * VIEW : 0);

		if (job.wrong || n == 0)
			MPI_MUST(MPI_File_set_view(file, at, type, type, "native", MPI_INFO_NULL));
		MPI_MUST(MPI_File_write(file, data, 1, type, MPI_STATUS_IGNORE));
	}
	MPI_Type_free(&type);
	MPI_MUST(MPI_File_close(&file));
}

static void parts(void)
{
	MPI_File file = opened();

	for (int n = 0; n < PIECES && job.rank == 0; n++)
		MPI_MUST(MPI_File_write_at(file, n * PIECE, data, n % 2 ? STEP : PIECE, MPI_BYTE,
					   MPI_STATUS_IGNORE));
	for (int n = 1; n <= PIECES; n++) {
		const MPI_Offset at = (n + own_part(PIECES)) * sizeof(data);

		MPI_MUST((job.wrong ? MPI_File_write_at_all : MPI_File_write_at)(
			file, at, data, PIECE, MPI_BYTE, MPI_STATUS_IGNORE));
	}
	MPI_MUST(MPI_File_close(&file));
}

static bool run(const char *what)
{
	if (!strcmp(what, "sieve"))
		sieve(NULL);
	else if (!strcmp(what, "rewrite"))
		sieve(MPI_File_write);
	else if (!strcmp(what, "together"))
		sieve(MPI_File_write_all);
	else if (!strcmp(what, "hints"))
		hints();
	else if (!strcmp(what, "reopen"))
		reopen();
	else if (!strcmp(what, "pieces"))
		pieces(job.wrong ? 1 << 10 : 512 << 10);
	else if (!strcmp(what, "views"))
		views();
	else if (!strcmp(what, "parts"))
		parts();
	else
		return false;
	return true;
}

int main(int argc, char **argv)
{
	if (argc != 4) {
		fprintf(stderr, "usage: mpi_io_mistakes WHAT HOW FILE\n");
		return 2;
	}
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &job.rank);
	MPI_Info_create(&job.info);
	job.path = argv[3];
	job.wrong = !strcmp(argv[2], "on") || !strcmp(argv[2], "lost") ||
		    !strcmp(argv[2], "each") || !strcmp(argv[2], "small") ||
		    !strcmp(argv[2], "all");
	if (!run(argv[1])) {
		fprintf(stderr, "%s: there is no such mistake\n", argv[1]);
		MPI_Abort(MPI_COMM_WORLD, 2);
	}
	MPI_Info_free(&job.info);
	MPI_Finalize();
	return 0;
}
