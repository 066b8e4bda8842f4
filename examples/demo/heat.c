/* Heat on a square plate, in columns over the ranks; the plate is saved now and then. What is wrong with save()?
 * fathom demo builds, records and explains it. */
#include <mpi.h>
#include <stdlib.h>

enum { SIDE = 256, STEPS = 40, EVERY = 5 };

/* The plate behind the last one, value by value: each call writes 8 bytes. */
static void save(MPI_File file, int plates, const double *plate, int columns, int first)
{
	for (int row = 0; row < SIDE; row++)
		for (int column = 0; column < columns; column++) {
			MPI_Offset at = ((MPI_Offset)plates * SIDE + row) * SIDE + first + column;

			MPI_File_write_at(file, at * (MPI_Offset)sizeof(double),
					  plate + row * columns + column, 1, MPI_DOUBLE,
					  MPI_STATUS_IGNORE);
		}
}

/* The mean of the neighbours; the plate's edges stay as they are. */
static void step(double *to, const double *from, int columns)
{
	for (int row = 1; row < SIDE - 1; row++)
		for (int column = 1; column < columns - 1; column++) {
			const double *at = from + row * columns + column;

			to[row * columns + column] =
				(at[-1] + at[1] + at[-columns] + at[columns]) / 4;
		}
}

int main(int argc, char **argv)
{
	int rank, ranks;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);

	int first = SIDE * rank / ranks, columns = SIDE * (rank + 1) / ranks - first;
	double *plate = calloc((size_t)SIDE * (size_t)columns, sizeof(double));
	double *next = calloc((size_t)SIDE * (size_t)columns, sizeof(double));

	if (!plate || !next)
		MPI_Abort(MPI_COMM_WORLD, 1);
	for (int column = 0; column < columns; column++)
		plate[column] = next[column] = 100;

	MPI_File file;

	MPI_File_open(MPI_COMM_WORLD, "heat.dat", MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL,
		      &file);
	for (int n = 0; n < STEPS; n++) {
		double *last = plate;

		if (n % EVERY == 0)
			save(file, n / EVERY, plate, columns, first);
		step(next, plate, columns);
		plate = next;
		next = last;
	}
	MPI_File_close(&file);
	free(plate);
	free(next);
	MPI_Finalize();
	return 0;
}
