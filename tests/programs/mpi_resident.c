/* mpi_resident FILE: rank r touches (r + 1) * 16 MiB, gives it back, and says in FILE.r what the kernel counts as its most
 * resident memory, in KiB. */
#include <string.h>
#include <sys/resource.h>

#include "mpi/check.h"

enum { PIECE = 16 << 20 };

int main(int argc, char **argv)
{
	struct rusage use;
	size_t bytes;
	char name[4096], *memory;
	FILE *file;
	int rank;

	MPI_MUST(MPI_Init(&argc, &argv));
	MPI_MUST(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
	bytes = (size_t)(rank + 1) * PIECE;
	memory = malloc(bytes);
	if (!memory)
		return 1;
	memset(memory, rank + 1, bytes);
	snprintf(name, sizeof(name), "%s.%d", argv[1], rank);
	file = fopen(name, "w");
	if (!file || fwrite(memory + bytes / 2, 1, 1, file) != 1 || fseek(file, 0, SEEK_SET) != 0)
		return 1;
	free(memory);
	MPI_MUST(MPI_Finalize());
	if (getrusage(RUSAGE_SELF, &use) != 0)
		return 1;
	fprintf(file, "%ld\n", use.ru_maxrss);
	return fclose(file) == 0 ? 0 : 1;
}
