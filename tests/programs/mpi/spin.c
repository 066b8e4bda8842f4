/* spin SECONDS: all ranks begin together, keep a processor busy for so long, and meet again. */
#include <stdlib.h>

#include "check.h"

int main(int argc, char **argv)
{
	double until;

	MPI_MUST(MPI_Init(&argc, &argv));
	MPI_MUST(MPI_Barrier(MPI_COMM_WORLD));
	until = MPI_Wtime() + atof(argv[1]);
	while (MPI_Wtime() < until)
		;
	MPI_MUST(MPI_Barrier(MPI_COMM_WORLD));
	MPI_Finalize();
	return 0;
}
