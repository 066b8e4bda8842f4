/* What goes wrong with HDF5, and the same work mended: hdf5_mistakes WHAT HOW FILE.
 *
 *	metadata   each | together    many small datasets: what describes them is written by every rank, or collectively
 *	convert    broken | whole     interleaved collective writes whose type in memory is not the file's, or is
 *	fill       written | never    a value to fill a dataset with, written before the data that cover it
 *	late       written | never    the same by one process in two writes: the first one fills the dataset
 *	objects    many | one         small datasets, written and read back, or one that holds them all
 *	chunks     thrown | kept      rows read from chunks of many rows, by a cache that is too small for them or is not
 *	opens      each | once        rows of a compressed dataset, opened for each or for all
 *	columns    single | whole     a contiguous matrix, read column after column or at once
 *	filter     deflate | none     numbers that hardly compress, written with a filter or without */
#include <hdf5.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hdf5_must.h"

static struct {
	const char *path;
	bool wrong;
	int rank, ranks;
} job;

static hid_t parallel_access(void)
{
	hid_t access;

	MUST(access = H5Pcreate(H5P_FILE_ACCESS));
	MUST(H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL));
	return access;
}

static hid_t created(hid_t access)
{
	hid_t file;

	MUST(file = H5Fcreate(job.path, H5F_ACC_TRUNC, H5P_DEFAULT, access));
	H5Pclose(access);
	return file;
}

static hid_t collective(void)
{
	hid_t how;

	MUST(how = H5Pcreate(H5P_DATASET_XFER));
	MUST(H5Pset_dxpl_mpio(how, H5FD_MPIO_COLLECTIVE));
	return how;
}

static hid_t block(hid_t set, const hsize_t *start, const hsize_t *count)
{
	hid_t space;

	MUST(space = H5Dget_space(set));
	MUST(H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL));
	return space;
}

static void *memory(size_t bytes)
{
	void *data = calloc(1, bytes);

	MUST(data ? 0 : -1);
	return data;
}

static void metadata(void)
{
	enum { DATASETS = 400 };
	hid_t access = parallel_access(), file, space, set;
	char name[16];

	MUST(H5Pset_coll_metadata_write(access, !job.wrong));
	file = created(access);
	MUST(space = H5Screate(H5S_SCALAR));
	for (int i = 0; i < DATASETS; i++) {
		snprintf(name, sizeof(name), "set%d", i);
		MUST(set = H5Dcreate2(file, name, H5T_NATIVE_INT, space, H5P_DEFAULT, H5P_DEFAULT,
				      H5P_DEFAULT));
		H5Dclose(set);
	}
	H5Sclose(space);
	MUST(H5Fclose(file));
}

/* Columns of a matrix, a rank's beside the next one's. */
static void convert(void)
{
	enum { ROWS = 512, COLUMNS = 1024 };
	const hsize_t extent[2] = {ROWS, COLUMNS};
	const hsize_t count[2] = {ROWS, COLUMNS / (hsize_t)job.ranks};
	const hsize_t start[2] = {0, (hsize_t)job.rank * count[1]};
	hid_t access = parallel_access(), how = collective(), file, set, file_space, space;
	double *data = memory(ROWS * COLUMNS * sizeof(*data));

	/* Else metadata take a good part of so short a run when the machine is loaded. */
	MUST(H5Pset_coll_metadata_write(access, true));
	file = created(access);
	space = H5Screate_simple(2, extent, NULL);
	MUST(set = H5Dcreate2(file, "columns", H5T_NATIVE_FLOAT, space, H5P_DEFAULT, H5P_DEFAULT,
			      H5P_DEFAULT));
	H5Sclose(space);
	space = H5Screate_simple(2, count, NULL);
	file_space = block(set, start, count);
	MUST(H5Dwrite(set, job.wrong ? H5T_NATIVE_DOUBLE : H5T_NATIVE_FLOAT, space, file_space, how,
		      data));
	H5Sclose(file_space);
	H5Sclose(space);
	H5Dclose(set);
	H5Pclose(how);
	MUST(H5Fclose(file));
	free(data);
}

/* Parts of one long dataset: each rank's, or one after another. */
static void fill(hid_t access, int parts, int first, int last)
{
	enum { EACH = 2 << 20 };
	const double value = 1;
	const hsize_t count = EACH, extent = EACH * (hsize_t)parts;
	hid_t file = created(access), how, set, file_space, space;
	double *data = memory(EACH * sizeof(*data));

	MUST(how = H5Pcreate(H5P_DATASET_CREATE));
	MUST(H5Pset_fill_value(how, H5T_NATIVE_DOUBLE, &value));
	MUST(H5Pset_fill_time(how, job.wrong ? H5D_FILL_TIME_ALLOC : H5D_FILL_TIME_NEVER));
	space = H5Screate_simple(1, &extent, NULL);
	MUST(set = H5Dcreate2(file, "field", H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, how,
			      H5P_DEFAULT));
	H5Sclose(space);
	space = H5Screate_simple(1, &count, NULL);
	for (int part = first; part <= last; part++) {
		const hsize_t start = EACH * (hsize_t)part;

		file_space = block(set, &start, &count);
		MUST(H5Dwrite(set, H5T_NATIVE_DOUBLE, space, file_space, H5P_DEFAULT, data));
		H5Sclose(file_space);
	}
	H5Sclose(space);
	H5Dclose(set);
	H5Pclose(how);
	MUST(H5Fclose(file));
	free(data);
}

/* One process: a number for each of many things. */
static void objects(void)
{
	enum { NUMBERS = 300 };
	const int sets = job.wrong ? NUMBERS : 1;
	const hsize_t extent = (hsize_t)(NUMBERS / sets);
	hid_t file = created(H5Pcreate(H5P_FILE_ACCESS)), set, space;
	int numbers[NUMBERS] = {0};
	char name[16];

	space = H5Screate_simple(1, &extent, NULL);
	for (int i = 0; i < 2 * sets; i++) {
		snprintf(name, sizeof(name), "set%d", i % sets);
		if (i == sets) {
			MUST(H5Fclose(file));
			MUST(file = H5Fopen(job.path, H5F_ACC_RDONLY, H5P_DEFAULT));
		}
		MUST(set = i < sets ? H5Dcreate2(file, name, H5T_NATIVE_INT, space, H5P_DEFAULT,
						 H5P_DEFAULT, H5P_DEFAULT)
				    : H5Dopen2(file, name, H5P_DEFAULT));
		MUST(i < sets
			     ? H5Dwrite(set, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, numbers)
			     : H5Dread(set, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT,
				       numbers));
		H5Dclose(set);
	}
	H5Sclose(space);
	MUST(H5Fclose(file));
}

enum { ROWS = 128, COLUMNS = 4096, CHUNK = 256 }; /* chunks of ROWS x CHUNK numbers */

/* A matrix of numbers without a pattern, written at once. */
static void write_matrix(bool is_chunked, bool is_deflated)
{
	const hsize_t extent[2] = {ROWS, COLUMNS}, chunk[2] = {ROWS, CHUNK};
	hid_t file = created(H5Pcreate(H5P_FILE_ACCESS)), how, set, space;
	int *data = memory(sizeof(*data) * ROWS * COLUMNS);
	unsigned number = 1;

	for (int i = 0; i < ROWS * COLUMNS; i++)
		data[i] = (int)(number = number * 1664525u + 1013904223u);
	MUST(how = H5Pcreate(H5P_DATASET_CREATE));
	if (is_chunked)
		MUST(H5Pset_chunk(how, 2, chunk));
	if (is_deflated)
		MUST(H5Pset_deflate(how, 6));
	space = H5Screate_simple(2, extent, NULL);
	MUST(set = H5Dcreate2(file, "rows", H5T_NATIVE_INT, space, H5P_DEFAULT, how, H5P_DEFAULT));
	MUST(H5Dwrite(set, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, data));
	H5Sclose(space);
	H5Dclose(set);
	H5Pclose(how);
	MUST(H5Fclose(file));
	free(data);
}

/* One process: row after row, each across all chunks. */
static void chunks(size_t cache, bool is_deflated, bool is_reopened)
{
	const hsize_t count[2] = {1, COLUMNS};
	hid_t access, file, set, space, file_space;
	int row[COLUMNS];

	write_matrix(true, is_deflated);
	MUST(access = H5Pcreate(H5P_DATASET_ACCESS));
	MUST(H5Pset_chunk_cache(access, 521, cache, 0.75));
	MUST(file = H5Fopen(job.path, H5F_ACC_RDONLY, H5P_DEFAULT));
	MUST(set = H5Dopen2(file, "rows", access));
	space = H5Screate_simple(2, count, NULL);
	for (hsize_t i = 0; i < ROWS; i++) {
		const hsize_t start[2] = {i, 0};

		if (is_reopened) {
			H5Dclose(set);
			MUST(set = H5Dopen2(file, "rows", access));
		}
		file_space = block(set, start, count);
		MUST(H5Dread(set, H5T_NATIVE_INT, space, file_space, H5P_DEFAULT, row));
		H5Sclose(file_space);
	}
	H5Sclose(space);
	H5Dclose(set);
	H5Pclose(access);
	MUST(H5Fclose(file));
}

static void columns(void)
{
	const hsize_t count[2] = {ROWS, job.wrong ? 1 : COLUMNS}, last = job.wrong ? 512 : 1;
	hid_t file, set, space, file_space;
	int *data = memory(sizeof(*data) * ROWS * COLUMNS);

	write_matrix(false, false);
	MUST(file = H5Fopen(job.path, H5F_ACC_RDONLY, H5P_DEFAULT));
	MUST(set = H5Dopen2(file, "rows", H5P_DEFAULT));
	space = H5Screate_simple(2, count, NULL);
	for (hsize_t i = 0; i < last; i++) {
		const hsize_t start[2] = {0, i};

		file_space = block(set, start, count);
		MUST(H5Dread(set, H5T_NATIVE_INT, space, file_space, H5P_DEFAULT, data));
		H5Sclose(file_space);
	}
	H5Sclose(space);
	H5Dclose(set);
	MUST(H5Fclose(file));
	free(data);
}

static bool run(const char *what)
{
	if (!strcmp(what, "metadata"))
		metadata();
	else if (!strcmp(what, "convert"))
		convert();
	else if (!strcmp(what, "fill"))
		fill(parallel_access(), job.ranks, job.rank, job.rank);
	else if (!strcmp(what, "late"))
		fill(H5Pcreate(H5P_FILE_ACCESS), 2, 0, 1);
	else if (!strcmp(what, "objects"))
		objects();
	else if (!strcmp(what, "chunks"))
		chunks(job.wrong ? 1 << 20 : 8 << 20, false, false);
	else if (!strcmp(what, "opens"))
		chunks(8 << 20, true, job.wrong);
	else if (!strcmp(what, "columns"))
		columns();
	else if (!strcmp(what, "filter"))
		write_matrix(true, job.wrong);
	else
		return false;
	return true;
}

int main(int argc, char **argv)
{
	if (argc != 4) {
		fprintf(stderr, "usage: hdf5_mistakes WHAT HOW FILE\n");
		return 2;
	}
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &job.rank);
	MPI_Comm_size(MPI_COMM_WORLD, &job.ranks);
	job.path = argv[3];
	job.wrong = !strcmp(argv[2], "each") || !strcmp(argv[2], "broken") ||
		    !strcmp(argv[2], "written") || !strcmp(argv[2], "thrown") ||
		    !strcmp(argv[2], "many") || !strcmp(argv[2], "single") ||
		    !strcmp(argv[2], "deflate");
	if (!run(argv[1])) {
		fprintf(stderr, "%s: there is no such mistake\n", argv[1]);
		MPI_Abort(MPI_COMM_WORLD, 2);
	}
	MPI_Finalize();
	return 0;
}
