/* Writes arrays as a plan says, each by HDF5, through an MPI-IO view, or by POSIX. The plan, a text file:
 *
 *   array FORM PATH ELEMENT DIMENSIONS EXTENT…     FORM: hdf5, view, posix; ELEMENT: bytes, 1, 4 or 8
 *   box RANK START… COUNT…                         of the array above; for a view at most one of each rank
 *   slab RANK START… STRIDE… COUNT… BLOCK…         by a call of its own; HDF5 only
 */
#include <fcntl.h>
#include <hdf5.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MUST(condition)                                                                            \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);            \
			MPI_Abort(MPI_COMM_WORLD, 99);                                             \
		}                                                                                  \
	} while (0)

enum { RANK = 4, BOXES = 4096, BYTES = 1 << 22 };

struct box {
	unsigned long start[RANK], stride[RANK], count[RANK], block[RANK];
	int apart; /* not in one selection with others */
};

struct array {
	char form[8], path[512];
	unsigned long element, extent[RANK];
	int rank, boxes;
	struct box box[BOXES]; /* this process's */
};

static struct array array;
static char data[BYTES];
static int self;

static unsigned long elements(const struct box *box)
{
	unsigned long n = 1;

	for (int d = 0; d < array.rank; d++)
		n *= box->count[d];
	return n;
}

/* Boxes [from, to) as one selection. */
static void select_boxes(hid_t space, int from, int to)
{
	hsize_t start[RANK], stride[RANK], count[RANK], block[RANK];

	for (int b = from; b < to; b++) {
		for (int d = 0; d < array.rank; d++) {
			start[d] = array.box[b].start[d];
			stride[d] = array.box[b].stride[d];
			count[d] = array.box[b].count[d];
			block[d] = array.box[b].block[d];
		}
		MUST(H5Sselect_hyperslab(space, b > from ? H5S_SELECT_OR : H5S_SELECT_SET, start,
					 stride, count, block) >= 0);
	}
}

/* Up to 16 boxes by one independent call, each slab by its own. */
static void write_boxes(hid_t set, hid_t type, hid_t space)
{
	for (int b = 0, to; b < array.boxes; b = to) {
		to = array.box[b].apart ? b + 1 : b + 16;
		if (to > array.boxes)
			to = array.boxes;
		select_boxes(space, b, to);
		const hsize_t n = (hsize_t)H5Sget_select_npoints(space);
		hid_t memory = H5Screate_simple(1, &n, NULL);

		MUST(n * array.element <= BYTES);
		MUST(H5Dwrite(set, type, memory, space, H5P_DEFAULT, data) >= 0);
		H5Sclose(memory);
	}
}

static void by_hdf5(void)
{
	const hid_t type = array.element == 8   ? H5T_NATIVE_DOUBLE
			   : array.element == 4 ? H5T_NATIVE_INT
						: H5T_NATIVE_CHAR;
	hid_t access = H5Pcreate(H5P_FILE_ACCESS);
	hsize_t extent[RANK];

	for (int d = 0; d < array.rank; d++)
		extent[d] = array.extent[d];
	MUST(H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL) >= 0);
	hid_t space = H5Screate_simple(array.rank, extent, NULL);
	hid_t file = H5Fcreate(array.path, H5F_ACC_TRUNC, H5P_DEFAULT, access);
	hid_t set = H5Dcreate2(file, "u", type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
	write_boxes(set, type, space);
	MUST(H5Dclose(set) >= 0 && H5Fclose(file) >= 0);
	H5Sclose(space);
	H5Pclose(access);
}

static void by_view(void)
{
	const struct box *box = array.box;
	int extent[RANK], start[RANK], count[RANK], bytes = 0;
	MPI_Datatype element, type = MPI_BYTE;
	MPI_File file;

	MPI_Type_contiguous((int)array.element, MPI_BYTE, &element);
	MUST(array.boxes <= 1);
	if (array.boxes) {
		for (int d = 0; d < array.rank; d++) {
			extent[d] = (int)array.extent[d];
			start[d] = (int)box->start[d];
			count[d] = (int)box->count[d];
		}
		MPI_Type_create_subarray(array.rank, extent, count, start, MPI_ORDER_C, element,
					 &type);
		MPI_Type_commit(&type);
		bytes = (int)(elements(box) * array.element);
	}
	MUST(bytes <= BYTES);
	MUST(!MPI_File_open(MPI_COMM_WORLD, array.path, MPI_MODE_CREATE | MPI_MODE_WRONLY,
			    MPI_INFO_NULL, &file));
	MUST(!MPI_File_set_view(file, 512, MPI_BYTE, type, "native", MPI_INFO_NULL));
	MUST(!MPI_File_write_all(file, data, bytes, MPI_BYTE, MPI_STATUS_IGNORE));
	MUST(!MPI_File_close(&file));
	if (array.boxes)
		MPI_Type_free(&type);
	MPI_Type_free(&element);
}

/* Row by row of a box; `line`: index of the row in all dimensions but the last. */
static void rows(int fd, const struct box *box, int d, unsigned long line)
{
	const unsigned long index = line * array.extent[d] + box->start[d];

	if (d + 1 == array.rank) {
		const size_t bytes = box->count[d] * array.element;

		MUST(pwrite(fd, data, bytes, (off_t)(index * array.element)) == (ssize_t)bytes);
		return;
	}
	for (unsigned long i = 0; i < box->count[d]; i++)
		rows(fd, box, d + 1, index + i);
}

static void by_posix(void)
{
	const int fd = open(array.path, O_CREAT | O_WRONLY, 0644);

	MUST(fd >= 0);
	for (int b = 0; b < array.boxes; b++)
		rows(fd, &array.box[b], 0, 0);
	close(fd);
}

static void write_array(void)
{
	if (array.rank == 0)
		return;
	if (!strcmp(array.form, "hdf5"))
		by_hdf5();
	else if (!strcmp(array.form, "view"))
		by_view();
	else
		by_posix();
}

static void read_numbers(FILE *plan, unsigned long *number)
{
	for (int d = 0; d < array.rank; d++)
		MUST(fscanf(plan, "%lu", &number[d]) == 1);
}

static void read_box(FILE *plan, int apart)
{
	struct box box = {.apart = apart};
	int rank;

	MUST(fscanf(plan, "%d", &rank) == 1);
	for (int d = 0; d < array.rank; d++)
		box.stride[d] = box.block[d] = 1;
	read_numbers(plan, box.start);
	if (apart)
		read_numbers(plan, box.stride);
	read_numbers(plan, box.count);
	if (apart)
		read_numbers(plan, box.block);
	if (rank != self)
		return;
	MUST(array.boxes < BOXES);
	array.box[array.boxes++] = box;
}

int main(int argc, char **argv)
{
	char word[8];

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &self);
	FILE *plan = argc == 2 ? fopen(argv[1], "r") : NULL;
	MUST(plan);
	while (fscanf(plan, "%7s", word) == 1) {
		if (strcmp(word, "array")) {
			read_box(plan, !strcmp(word, "slab"));
			continue;
		}
		write_array();
		array.boxes = 0;
		MUST(fscanf(plan, "%7s %511s %lu %d", array.form, array.path, &array.element,
			    &array.rank) == 4);
		MUST(array.rank >= 1 && array.rank <= RANK);
		read_numbers(plan, array.extent);
	}
	write_array();
	fclose(plan);
	MPI_Finalize();
	return 0;
}
