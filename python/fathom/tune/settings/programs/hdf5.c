/* A matrix in rows of all ranks, below a group and behind an attribute; every list is the default one.
 * hdf5 FILE collective|serial */
#include <hdf5.h>
#include <mpi.h>
#include <string.h>

enum { ROWS = 64, COLUMNS = 256 };

static void must(int error)
{
	if (error)
		MPI_Abort(MPI_COMM_WORLD, 1);
}

static hid_t good(hid_t id)
{
	must(id < 0);
	return id;
}

static void note(hid_t file)
{
	const int value = 1;
	const hid_t space = good(H5Screate(H5S_SCALAR));
	const hid_t attribute =
		good(H5Acreate2(file, "step", H5T_NATIVE_INT, space, H5P_DEFAULT, H5P_DEFAULT));

	must(H5Awrite(attribute, H5T_NATIVE_INT, &value) < 0);
	H5Aclose(attribute);
	H5Sclose(space);
}

/* `rows` of the matrix at a time, from row `first` on. */
static void write_rows(hid_t set, const double *data, hsize_t first, hsize_t rows)
{
	const hsize_t count[2] = {rows, COLUMNS};
	const hid_t memory = good(H5Screate_simple(2, count, NULL));

	for (hsize_t row = 0; row < ROWS; row += rows) {
		const hsize_t start[2] = {first + row, 0};
		const hid_t space = good(H5Dget_space(set));

		must(H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL) < 0);
		must(H5Dwrite(set, H5T_NATIVE_DOUBLE, memory, space, H5P_DEFAULT,
			      data + row * COLUMNS) < 0);
		H5Sclose(space);
	}
	H5Sclose(memory);
}

/* Rank `rank` of `ranks` has its rows of it. One alone writes them one by one. */
static void matrix(hid_t file, const char *name, int rank, int ranks)
{
	static double data[ROWS * COLUMNS];
	const hsize_t whole[2] = {(hsize_t)ROWS * (hsize_t)ranks, COLUMNS};
	const hsize_t start[2] = {(hsize_t)ROWS * (hsize_t)rank, 0}, count[2] = {ROWS, COLUMNS};
	const hid_t group = good(H5Gcreate2(file, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
	const hid_t space = good(H5Screate_simple(2, whole, NULL));
	const hid_t memory = good(H5Screate_simple(2, count, NULL));
	const hid_t set = good(H5Dcreate2(group, "x", H5T_NATIVE_DOUBLE, space, H5P_DEFAULT,
					  H5P_DEFAULT, H5P_DEFAULT));

	for (int i = 0; i < ROWS * COLUMNS; i++)
		data[i] = rank + 1;
	must(H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL) < 0);
	write_rows(set, data, start[0], ranks == 1 ? 1 : ROWS);
	memset(data, 0, sizeof(data));
	must(H5Dread(set, H5T_NATIVE_DOUBLE, memory, space, H5P_DEFAULT, data) < 0);
	for (int i = 0; i < ROWS * COLUMNS; i++)
		must(data[i] != rank + 1);
	H5Dclose(set);
	H5Sclose(memory);
	H5Sclose(space);
	H5Gclose(group);
}

int main(int argc, char **argv)
{
	hid_t access, file;
	int rank, ranks, serial;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	must(argc != 3);
	serial = strcmp(argv[2], "serial") == 0;
	if (!serial || rank == 0) {
		access = good(H5Pcreate(H5P_FILE_ACCESS));
		if (!serial)
			must(H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL) < 0);
		file = good(H5Fcreate(argv[1], H5F_ACC_TRUNC, H5P_DEFAULT, access));
		note(file);
		matrix(file, "a", serial ? 0 : rank, serial ? 1 : ranks);
		matrix(file, "b", serial ? 0 : rank, serial ? 1 : ranks);
		must(H5Fclose(file) < 0);
		H5Pclose(access);
	}
	MPI_Finalize();
	return 0;
}
