/* Plain MPI-IO: the arrays one after another, no header. A one-dimensional array is reached by explicit
 * offsets, any other by a subarray view. */
#include <inttypes.h>
#include <stdio.h>

#include "run.h"

/* What each piece needs from both directions. */
struct transfer {
	MPI_File file;
	const char *path;
	const struct job *job;
	const struct layout *l;
	bool reading;
};

static void moved(MPI_Status *status, int expected, enum element type, const char *path)
{
	int n;

	MPI_Get_count(status, mpi_element(type), &n);
	if (n != expected)
		fail("MPI-IO", path, "moved fewer elements than asked");
}

/* File and memory are C-ordered: slowest first. */
static void view(const struct transfer *t, const struct piece *p)
{
	const struct array *a = &t->l->array[p->array];
	int extent[LAYOUT_RANK], count[LAYOUT_RANK], start[LAYOUT_RANK];
	MPI_Datatype type;

	for (unsigned d = 0; d < a->rank; d++) {
		extent[d] = int_count(array_extent(t->l, a, d), a->name);
		count[d] = int_count(p->count[d], a->name);
		start[d] = int_count(p->start[d], a->name);
	}
	MPI_Type_create_subarray((int)a->rank, extent, count, start, MPI_ORDER_C,
				 mpi_element(a->type), &type);
	MPI_Type_commit(&type);
	mpi_check(MPI_File_set_view(t->file, (MPI_Offset)array_offset(t->l, p->array),
				    mpi_element(a->type), type, "native", MPI_INFO_NULL),
		  "MPI_File_set_view", t->path);
	MPI_Type_free(&type);
}

static int by_view(const struct transfer *t, const struct piece *p, MPI_Datatype memory,
		   MPI_Status *status)
{
	view(t, p);
	if (t->reading)
		return t->job->independent
			       ? MPI_File_read(t->file, p->buffer, 1, memory, status)
			       : MPI_File_read_all(t->file, p->buffer, 1, memory, status);
	return t->job->independent ? MPI_File_write(t->file, p->buffer, 1, memory, status)
				   : MPI_File_write_all(t->file, p->buffer, 1, memory, status);
}

static int by_offset(const struct transfer *t, const struct piece *p, MPI_Datatype memory,
		     MPI_Status *status)
{
	const struct array *a = &t->l->array[p->array];
	MPI_Offset at =
		(MPI_Offset)(array_offset(t->l, p->array) + p->start[0] * element_size(a->type));

	if (t->reading)
		return t->job->independent
			       ? MPI_File_read_at(t->file, at, p->buffer, 1, memory, status)
			       : MPI_File_read_at_all(t->file, at, p->buffer, 1, memory, status);
	return t->job->independent
		       ? MPI_File_write_at(t->file, at, p->buffer, 1, memory, status)
		       : MPI_File_write_at_all(t->file, at, p->buffer, 1, memory, status);
}

static void account_access(const struct transfer *t, const struct piece *p)
{
	const struct array *a = &t->l->array[p->array];
	uint64_t first = 0, last = 0, bytes = piece_bytes(t->l, p);

	for (unsigned d = 0; d < a->rank; d++) {
		first = first * array_extent(t->l, a, d) + p->start[d];
		last = last * array_extent(t->l, a, d) + p->start[d] + p->count[d] - 1;
	}
	account_bytes("mpiio", t->reading, t->path,
		      array_offset(t->l, p->array) + first * element_size(a->type),
		      bytes ? (last - first + 1) * element_size(a->type) : 0, bytes);
}

static void move(const struct transfer *t, const struct pieces *p)
{
	for (unsigned i = 0; i < p->n; i++) {
		const struct piece *piece = &p->piece[i];
		const struct array *a = &t->l->array[piece->array];
		MPI_Datatype memory = mpi_memory(t->l, piece);
		MPI_Status status;

		account_access(t, piece);
		mpi_check(a->rank == 1 ? by_offset(t, piece, memory, &status)
				       : by_view(t, piece, memory, &status),
			  t->reading ? "read" : "write", t->path);
		moved(&status, int_count(piece_elements(t->l, piece), a->name), a->type, t->path);
		MPI_Type_free(&memory);
	}
}

static void open_and_move(const struct job *job, const char *path, const struct layout *l,
			  const struct pieces *p, bool reading)
{
	struct transfer t = {.path = path, .job = job, .l = l, .reading = reading};
	int how = reading ? MPI_MODE_RDONLY : MPI_MODE_CREATE | MPI_MODE_RDWR;

	mpi_check(MPI_File_open(job->communicator, path, how, job->info, &t.file), "MPI_File_open",
		  path);
	move(&t, p);
	mpi_check(MPI_File_close(&t.file), "MPI_File_close", path);
}

static void write_file(const struct job *job, const char *path, const struct layout *l,
		       const struct pieces *p)
{
	open_and_move(job, path, l, p, false);
}

static void read_file(const struct job *job, const char *path, const struct layout *l,
		      const struct pieces *p)
{
	open_and_move(job, path, l, p, true);
}

const struct form form_mpiio = {"bin", false, write_file, read_file};
