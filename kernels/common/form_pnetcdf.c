/* PnetCDF: all arrays defined at once, then put or posted; CDF-5. Blocking or nonblocking, collective or
 * independent; posts from buffers that are reused go through PnetCDF's own (bput). */
#include <pnetcdf.h>
#include <stdlib.h>
#include <string.h>

#include "run.h"

/* What each piece needs from both directions. */
struct transfer {
	int file;
	const char *path;
	const struct job *job;
	const struct layout *l;
	bool reading;
	int *request;
	unsigned posted;
};

static void nc_check(int error, const char *call, const char *object)
{
	if (error != NC_NOERR)
		fail(call, object, ncmpi_strerror(error));
}

static MPI_Offset *offsets(MPI_Offset *out, const uint64_t *in, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		out[i] = (MPI_Offset)in[i];
	return out;
}

static nc_type nc_element(enum element type)
{
	return type == FLOAT64 ? NC_DOUBLE : type == FLOAT32 ? NC_FLOAT : NC_INT;
}

static void attribute(int file, const struct attribute *a)
{
	if (a->text)
		nc_check(ncmpi_put_att_text(file, NC_GLOBAL, a->name, strlen(a->text), a->text),
			 "ncmpi_put_att_text", a->name);
	else
		nc_check(ncmpi_put_att_double(file, NC_GLOBAL, a->name, nc_element(a->type), 1,
					      &a->value),
			 "ncmpi_put_att_double", a->name);
}

/* Dimensions, variables and attributes; they get the numbers they have in the layout. */
static void define(int file, const struct layout *l)
{
	int id, dim[LAYOUT_RANK];

	for (unsigned i = 0; i < l->dims; i++)
		nc_check(ncmpi_def_dim(file, l->dim[i].name,
				       l->dim[i].record ? NC_UNLIMITED : (MPI_Offset)l->dim[i].size,
				       &id),
			 "ncmpi_def_dim", l->dim[i].name);
	for (unsigned i = 0; i < l->attributes; i++)
		attribute(file, &l->attribute[i]);
	for (unsigned i = 0; i < l->arrays; i++) {
		const struct array *a = &l->array[i];
		for (unsigned d = 0; d < a->rank; d++)
			dim[d] = (int)a->dim[d];
		nc_check(ncmpi_def_var(file, a->name, nc_element(a->type), (int)a->rank, dim, &id),
			 "ncmpi_def_var", a->name);
	}
	nc_check(ncmpi_enddef(file), "ncmpi_enddef", l->name);
}

static void now(const struct transfer *t, const struct piece *p, MPI_Datatype type, MPI_Offset n)
{
	MPI_Offset start[LAYOUT_RANK], count[LAYOUT_RANK];
	const struct array *a = &t->l->array[p->array];
	int v = (int)p->array, error;

	offsets(start, p->start, a->rank);
	offsets(count, p->count, a->rank);
	if (t->reading)
		error = t->job->independent
				? ncmpi_get_vara(t->file, v, start, count, p->buffer, n, type)
				: ncmpi_get_vara_all(t->file, v, start, count, p->buffer, n, type);
	else
		error = t->job->independent
				? ncmpi_put_vara(t->file, v, start, count, p->buffer, n, type)
				: ncmpi_put_vara_all(t->file, v, start, count, p->buffer, n, type);
	nc_check(error, t->reading ? "ncmpi_get_vara" : "ncmpi_put_vara", a->name);
}

static void post(struct transfer *t, const struct piece *p, MPI_Datatype type, MPI_Offset n)
{
	MPI_Offset start[LAYOUT_RANK], count[LAYOUT_RANK];
	const struct array *a = &t->l->array[p->array];
	int *request = &t->request[t->posted++], v = (int)p->array, error;

	offsets(start, p->start, a->rank);
	offsets(count, p->count, a->rank);
	if (t->reading)
		error = ncmpi_iget_vara(t->file, v, start, count, p->buffer, n, type, request);
	else if (t->l->buffered)
		error = ncmpi_bput_vara(t->file, v, start, count, p->buffer, n, type, request);
	else
		error = ncmpi_iput_vara(t->file, v, start, count, p->buffer, n, type, request);
	nc_check(error, t->reading ? "ncmpi_iget_vara" : "ncmpi_iput_vara", a->name);
}

static void wait_for_all(struct transfer *t)
{
	int n = (int)t->posted, *status = calloc(t->posted + 1, sizeof(*status));

	if (!status)
		fail("calloc", "statuses", "out of memory");
	nc_check(t->job->independent ? ncmpi_wait(t->file, n, t->request, status)
				     : ncmpi_wait_all(t->file, n, t->request, status),
		 "ncmpi_wait", t->path);
	for (int i = 0; i < n; i++)
		nc_check(status[i], "ncmpi_wait, a request", t->path);
	free(status);
	t->posted = 0;
}

static void one(struct transfer *t, const struct piece *p)
{
	const struct array *a = &t->l->array[p->array];
	MPI_Datatype type = mpi_element(a->type), memory;
	MPI_Offset n = (MPI_Offset)piece_elements(t->l, p);

	account_box("pnetcdf", t->reading, t->path, "", t->l, p);
	if (p->memory.rank) {
		memory = mpi_memory(t->l, p);
		type = memory;
		n = 1;
	}
	if (t->job->options->nonblocking)
		post(t, p, type, n);
	else
		now(t, p, type, n);
	if (p->memory.rank)
		MPI_Type_free(&memory);
}

static void move(struct transfer *t, const struct pieces *p)
{
	unsigned batch = t->l->batch ? t->l->batch : p->n;

	t->request = calloc(p->n + 1, sizeof(*t->request));
	if (!t->request)
		fail("calloc", "requests", "out of memory");
	for (unsigned i = 0; i < p->n; i++) {
		one(t, &p->piece[i]);
		if (t->job->options->nonblocking && (t->posted == batch || i + 1 == p->n))
			wait_for_all(t);
	}
	free(t->request);
}

/* Data mode from begin to end, independent where asked. */
static void all(const struct job *job, int file, const char *path, const struct layout *l,
		const struct pieces *p, bool reading)
{
	struct transfer t = {.file = file, .path = path, .job = job, .l = l, .reading = reading};

	if (job->independent)
		nc_check(ncmpi_begin_indep_data(file), "ncmpi_begin_indep_data", path);
	move(&t, p);
	if (job->independent)
		nc_check(ncmpi_end_indep_data(file), "ncmpi_end_indep_data", path);
}

/* Variables lie one right after another, unless -H says else. */
static MPI_Info packed_info(MPI_Info given)
{
	static char key[] = "nc_var_align_size";
	char value[8];
	MPI_Info info;
	int there;

	MPI_Info_dup(given, &info);
	MPI_Info_get(info, key, (int)sizeof(value) - 1, value, &there);
	if (!there)
		MPI_Info_set(info, key, "1");
	return info;
}

static void write_file(const struct job *job, const char *path, const struct layout *l,
		       const struct pieces *p)
{
	bool buffered = job->options->nonblocking && l->buffered;
	MPI_Info info = packed_info(job->info);
	MPI_Offset bytes = 0;
	int file;

	nc_check(ncmpi_create(job->communicator, path, NC_CLOBBER | NC_64BIT_DATA, info, &file),
		 "ncmpi_create", path);
	define(file, l);
	for (unsigned i = 0; i < p->n; i++)
		bytes += (MPI_Offset)piece_bytes(l, &p->piece[i]);
	if (buffered)
		nc_check(ncmpi_buffer_attach(file, bytes + 1), "ncmpi_buffer_attach", path);
	all(job, file, path, l, p, false);
	if (buffered)
		nc_check(ncmpi_buffer_detach(file), "ncmpi_buffer_detach", path);
	nc_check(ncmpi_close(file), "ncmpi_close", path);
	MPI_Info_free(&info);
}

static void read_file(const struct job *job, const char *path, const struct layout *l,
		      const struct pieces *p)
{
	int file;

	nc_check(ncmpi_open(job->communicator, path, NC_NOWRITE, job->info, &file), "ncmpi_open",
		 path);
	all(job, file, path, l, p, true);
	nc_check(ncmpi_close(file), "ncmpi_close", path);
}

const struct form form_pnetcdf = {"nc", true, write_file, read_file};
