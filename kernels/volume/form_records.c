/* The record variables of a classic netCDF file read by plain MPI-IO: a view that takes one slice of the
 * variable from each record. Reads only; a netCDF library wrote the file. */
#include <stdint.h>

#include "../common/run.h"

/* Where the records and, in each, the variables lie; all are floats, whose slices need no padding. */
struct records {
	uint64_t first, size; /* bytes */
	uint64_t variable;    /* offset in a record */
};

static uint64_t slice_bytes(const struct layout *l, const struct array *a)
{
	return array_bytes(l, a) / array_extent(l, a, 0);
}

static struct records find(MPI_File file, const char *path, const struct layout *l, unsigned array)
{
	struct records r = {0};
	MPI_Offset bytes;

	for (unsigned i = 0; i < l->arrays; i++) {
		if (i == array)
			r.variable = r.size;
		r.size += slice_bytes(l, &l->array[i]);
	}
	mpi_check(MPI_File_get_size(file, &bytes), "MPI_File_get_size", path);
	/* the records end the file: no need to read the header */
	uint64_t all = r.size * array_extent(l, &l->array[array], 0);
	if ((uint64_t)bytes < all)
		fail("read", path, "shorter than its records");
	r.first = (uint64_t)bytes - all;
	return r;
}

/* One slice's rows, once per record. */
static MPI_Datatype slices(const struct layout *l, const struct piece *p, const struct records *r)
{
	const struct array *a = &l->array[p->array];
	int extent[2], count[2], start[2];
	MPI_Datatype slice, type;

	for (unsigned d = 0; d < 2; d++) {
		extent[d] = int_count(array_extent(l, a, d + 1), a->name);
		count[d] = int_count(p->count[d + 1], a->name);
		start[d] = int_count(p->start[d + 1], a->name);
	}
	MPI_Type_create_subarray(2, extent, count, start, MPI_ORDER_C, MPI_FLOAT, &slice);
	MPI_Type_create_resized(slice, 0, (MPI_Aint)r->size, &type);
	MPI_Type_commit(&type);
	MPI_Type_free(&slice);
	return type;
}

static void tell(const char *path, const struct layout *l, const struct piece *p,
		 const struct records *r, uint64_t displacement)
{
	uint64_t x = array_extent(l, &l->array[p->array], 2);
	uint64_t first = (p->start[1] * x + p->start[2]) * 4;
	uint64_t last = ((p->start[1] + p->count[1] - 1) * x + p->start[2] + p->count[2]) * 4;

	account_bytes("mpiio", true, path, displacement + first,
		      (p->count[0] - 1) * r->size + last - first, piece_bytes(l, p));
}

static void swap_bytes(uint32_t *word, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
		word[i] = __builtin_bswap32(word[i]);
}

static void read_piece(MPI_File file, const struct job *job, const char *path,
		       const struct layout *l, const struct piece *p)
{
	struct records r = find(file, path, l, p->array);
	MPI_Datatype type = slices(l, p, &r);
	uint64_t displacement = r.first + p->start[0] * r.size + r.variable;
	int n = int_count(piece_elements(l, p), path), moved;
	MPI_Status status;

	mpi_check(MPI_File_set_view(file, (MPI_Offset)displacement, MPI_FLOAT, type, "native",
				    MPI_INFO_NULL),
		  "MPI_File_set_view", path);
	tell(path, l, p, &r, displacement);
	mpi_check(job->independent ? MPI_File_read(file, p->buffer, n, MPI_FLOAT, &status)
				   : MPI_File_read_all(file, p->buffer, n, MPI_FLOAT, &status),
		  "MPI_File_read", path);
	MPI_Get_count(&status, MPI_FLOAT, &moved);
	if (moved != n)
		fail("read", path, "moved fewer elements than asked");
	MPI_Type_free(&type);
	/* classic files are big-endian */
	if (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__)
		swap_bytes(p->buffer, (uint64_t)n);
}

static void read_file(const struct job *job, const char *path, const struct layout *l,
		      const struct pieces *p)
{
	MPI_File file;

	mpi_check(MPI_File_open(job->communicator, path, MPI_MODE_RDONLY, job->info, &file),
		  "MPI_File_open", path);
	for (unsigned i = 0; i < p->n; i++)
		read_piece(file, job, path, l, &p->piece[i]);
	mpi_check(MPI_File_close(&file), "MPI_File_close", path);
}

const struct form form_records = {"nc", false, NULL, read_file};
