/* nested: N calls of MPI-IO, each with one system call inside: the most that queries have to join.
 *
 *	nested FILE N
 *
 * 8-byte MPI_File_write_at up to 8 MiB, over and over. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { BYTES = 8, SWEEP = 1 << 20 }; /* calls from the file's begin to its end */

int main(int argc, char **argv)
{
	long n = argc == 3 ? atol(argv[2]) : 0;
	uint64_t value = 0;
	MPI_File file;

	if (n < 1) {
		fprintf(stderr, "usage: nested FILE N (number of calls, 1..)\n");
		return 2;
	}
	MPI_Init(&argc, &argv);
	MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_ARE_FATAL);
	MPI_File_open(MPI_COMM_SELF, argv[1], MPI_MODE_WRONLY | MPI_MODE_CREATE, MPI_INFO_NULL,
		      &file);
	for (long i = 0; i < n; i++)
		MPI_File_write_at(file, i % SWEEP * BYTES, &value, BYTES, MPI_BYTE,
				  MPI_STATUS_IGNORE);
	MPI_File_close(&file);
	return MPI_Finalize();
}
