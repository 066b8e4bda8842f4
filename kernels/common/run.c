/* The main of every parallel kernel: files written, read back when asked, times printed. */
#include "run.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

_Noreturn void fail(const char *call, const char *object, const char *why)
{
	fprintf(stderr, "%s: %s: %s: %s\n", kernel.name, call, object, why);
	MPI_Abort(MPI_COMM_WORLD, 1);
	abort();
}

void mpi_check(int error, const char *call, const char *object)
{
	char why[MPI_MAX_ERROR_STRING];
	int length;

	if (error == MPI_SUCCESS)
		return;
	MPI_Error_string(error, why, &length);
	fail(call, object, why);
}

MPI_Datatype mpi_element(enum element type)
{
	return type == FLOAT64 ? MPI_DOUBLE : type == FLOAT32 ? MPI_FLOAT : MPI_INT;
}

int int_count(uint64_t n, const char *object)
{
	if (n > INT_MAX)
		fail("piece", object, "more elements than an int counts; use more ranks");
	return (int)n;
}

MPI_Datatype mpi_memory(const struct layout *l, const struct piece *p)
{
	const struct array *a = &l->array[p->array];
	int extent[LAYOUT_RANK + 1], count[LAYOUT_RANK + 1], start[LAYOUT_RANK + 1];
	MPI_Datatype type;

	for (unsigned d = 0; d < p->memory.rank; d++) {
		extent[d] = int_count(p->memory.extent[d], a->name);
		count[d] = int_count(p->memory.count[d], a->name);
		start[d] = int_count(p->memory.start[d], a->name);
	}
	if (p->memory.rank)
		MPI_Type_create_subarray((int)p->memory.rank, extent, count, start, MPI_ORDER_C,
					 mpi_element(a->type), &type);
	else
		MPI_Type_contiguous(int_count(piece_elements(l, p), a->name), mpi_element(a->type),
				    &type);
	MPI_Type_commit(&type);
	return type;
}

static MPI_Info make_info(const struct options *o)
{
	MPI_Info info;

	MPI_Info_create(&info);
	for (unsigned i = 0; i < o->hints; i++)
		MPI_Info_set(info, o->hint[i].key, o->hint[i].value);
	return info;
}

/* One file: all ranks, or its owner alone. Gives its bytes. */
static uint64_t one_file(struct job *job, const struct form *form, unsigned file, bool reading)
{
	static struct layout l;
	struct pieces p = {0};
	char path[4096], what[256];
	uint64_t bytes = 0;

	kernel.layout(&l, file);
	for (unsigned i = 0; i < l.arrays; i++)
		bytes += array_bytes(&l, &l.array[i]);
	if (l.owner >= 0 && l.owner != job->rank)
		return bytes;
	if (l.posix)
		form = &form_posix;
	if (!reading && !form->write)
		return 0;
	job->communicator = l.owner >= 0 ? MPI_COMM_SELF : MPI_COMM_WORLD;
	job->independent = job->options->independent || l.independent;
	snprintf(path, sizeof(path), "%s/%s.%s", job->options->directory, l.name, form->suffix);
	kernel.pieces(&p, &l, job->rank, reading);
	pieces_allocate(&p, &l);
	if (reading) {
		pieces_spoil(&p, &l);
		form->read(job, path, &l, &p);
		if (pieces_wrong(&p, &l, what, sizeof(what)))
			fail("read back", path, what);
	} else {
		pieces_fill(&p, &l);
		form->write(job, path, &l, &p);
	}
	pieces_free(&p);
	return bytes;
}

static uint64_t all_files(struct job *job, bool reading)
{
	uint64_t bytes = 0;

	for (unsigned file = 0; file < kernel.files(); file++)
		bytes += one_file(job, &FORM, file, reading);
	return bytes;
}

static void work(const struct options *o, int rank)
{
	struct job job = {.options = o, .rank = rank, .info = make_info(o)};
	double at[3];

	if (o->account)
		account_begin(o->account, rank);
	MPI_Barrier(MPI_COMM_WORLD);
	at[0] = MPI_Wtime();
	uint64_t bytes = all_files(&job, false);
	MPI_Barrier(MPI_COMM_WORLD);
	at[1] = MPI_Wtime();
	if (o->check)
		all_files(&job, true);
	MPI_Barrier(MPI_COMM_WORLD);
	at[2] = MPI_Wtime();
	account_end();
	MPI_Info_free(&job.info);
	if (rank == 0)
		printf("files=%u bytes=%llu write_seconds=%.6f read_seconds=%.6f\n", kernel.files(),
		       (unsigned long long)bytes, at[1] - at[0], at[2] - at[1]);
}

int main(int argc, char **argv)
{
	struct options o;
	int rank, ranks;

	MPI_Init(&argc, &argv);
	double began = MPI_Wtime();
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	bool good = options_read(&o, argc, argv, ranks, rank == 0);
	if (good && o.nonblocking && !FORM.nonblocking) {
		good = false;
		if (rank == 0)
			fprintf(stderr,
				"%s: -m: no nonblocking calls here; the PnetCDF form has them\n",
				argv[0]);
	}
	if (good)
		work(&o, rank);
	if (good && rank == 0)
		printf("job_seconds=%.6f\n", MPI_Wtime() - began);
	MPI_Finalize();
	return good ? 0 : 2;
}
