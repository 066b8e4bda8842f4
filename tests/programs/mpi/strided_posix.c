/* A field of doubles in blocks of columns: each rank writes its part of every row by a call of its own. With `-p`
 * each rank writes a file of its own instead, row after row. Arguments: [-p] PATH. The value of an element is its
 * place in the whole field; a block of columns is COLUMNS wide, and there are ROWS rows. */
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { ROWS = 64, COLUMNS = 24 };

int main(int argc, char **argv)
{
	int rank, ranks, apart = argc > 2 && strcmp(argv[1], "-p") == 0;
	double part[COLUMNS];
	char path[4096];

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	if (apart)
		snprintf(path, sizeof(path), "%s.%04d", argv[2], rank);
	else
		snprintf(path, sizeof(path), "%s", argv[1]);
	int file = open(path, O_CREAT | O_WRONLY, 0644);
	if (file < 0)
		MPI_Abort(MPI_COMM_WORLD, 1);
	for (int row = 0; row < ROWS; row++) {
		off_t first = ((off_t)row * ranks + rank) * COLUMNS;
		for (int column = 0; column < COLUMNS; column++)
			part[column] = (double)(first + column);
		off_t place = apart ? (off_t)row * COLUMNS : first;
		if (pwrite(file, part, sizeof(part), place * (off_t)sizeof(double)) != sizeof(part))
			MPI_Abort(MPI_COMM_WORLD, 1);
	}
	close(file);
	MPI_Finalize();
	return 0;
}
