#include "s3d_run.h"

#include <stdio.h>
#include <stdlib.h>

_Noreturn void s3d_fail(const char *call, const char *object, const char *why)
{
	fprintf(stderr, "s3d: %s: %s: %s\n", call, object, why);
	MPI_Abort(MPI_COMM_WORLD, 1);
	abort();
}

static MPI_Info make_info(const struct s3d_options *o)
{
	MPI_Info info;

	MPI_Info_create(&info);
	for (unsigned i = 0; i < o->hints; i++)
		MPI_Info_set(info, o->hint[i].key, o->hint[i].value);
	return info;
}

static void write_all(const struct s3d_options *o, const struct s3d_block *b, double *data[],
		      const struct s3d_form *form, MPI_Info info)
{
	char path[4096];

	for (unsigned checkpoint = 0; checkpoint < o->checkpoints; checkpoint++) {
		for (unsigned v = 0; v < S3D_VARIABLES; v++)
			s3d_fill(data[v], o, b, v, checkpoint);
		s3d_path(path, sizeof(path), o, checkpoint, form->suffix);
		form->write(path, o, b, data, checkpoint, info);
	}
}

static void read_all(const struct s3d_options *o, const struct s3d_block *b, double *data[],
		     const struct s3d_form *form, MPI_Info info)
{
	char path[4096];
	char what[256];

	for (unsigned checkpoint = 0; checkpoint < o->checkpoints; checkpoint++) {
		s3d_path(path, sizeof(path), o, checkpoint, form->suffix);
		form->read(path, o, b, data, info);
		for (unsigned v = 0; v < S3D_VARIABLES; v++)
			if (s3d_check(data[v], o, b, v, checkpoint, what, sizeof(what)))
				s3d_fail("read back", path, what);
	}
}

static void allocate(double *data[], const struct s3d_block *b)
{
	for (unsigned v = 0; v < S3D_VARIABLES; v++) {
		data[v] = malloc(s3d_variables[v].components * s3d_points(b) * sizeof(double));
		if (!data[v])
			s3d_fail("malloc", s3d_variables[v].name, "out of memory");
	}
}

static void job(const struct s3d_options *o, const struct s3d_form *form, int rank)
{
	struct s3d_block block = s3d_block(o, rank);
	MPI_Info info = make_info(o);
	double *data[S3D_VARIABLES];
	double at[3];

	allocate(data, &block);
	MPI_Barrier(MPI_COMM_WORLD);
	at[0] = MPI_Wtime();
	write_all(o, &block, data, form, info);
	MPI_Barrier(MPI_COMM_WORLD);
	at[1] = MPI_Wtime();
	if (o->restart)
		read_all(o, &block, data, form, info);
	MPI_Barrier(MPI_COMM_WORLD);
	at[2] = MPI_Wtime();
	for (unsigned v = 0; v < S3D_VARIABLES; v++)
		free(data[v]);
	MPI_Info_free(&info);
	if (rank == 0)
		printf("checkpoints=%u bytes=%llu write_seconds=%.6f read_seconds=%.6f\n",
		       o->checkpoints, 8ull * o->checkpoints * s3d_first(o, S3D_VARIABLES),
		       at[1] - at[0], at[2] - at[1]);
}

int s3d_run(int argc, char **argv, const struct s3d_form *form)
{
	struct s3d_options o;
	int rank, ranks;

	MPI_Init(&argc, &argv);
	double began = MPI_Wtime();
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	bool good = s3d_options(&o, argc, argv, rank == 0);
	if (good && o.ranks[0] * o.ranks[1] * o.ranks[2] != (size_t)ranks) {
		good = false;
		if (rank == 0)
			fprintf(stderr, "%s: NPX * NPY * NPZ is not the number of ranks, %d\n",
				argv[0], ranks);
	}
	if (good)
		job(&o, form, rank);
	if (good && rank == 0)
		printf("job_seconds=%.6f\n", MPI_Wtime() - began);
	MPI_Finalize();
	return good ? 0 : 2;
}
