/* MPI-IO of 3 GiB in one call, from a sparse file, into one small piece of memory mapped many times;
 * then 1 MiB asked of a file that has 100 bytes left. Prints what MPI says has moved. */
#define _GNU_SOURCE
#include <sys/mman.h>
#include <unistd.h>

#include "check.h"

static char *buffer(size_t size)
{
	const size_t piece = 64 << 20;
	int memory = memfd_create("buffer", 0);
	char *at = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (memory < 0 || ftruncate(memory, (off_t)piece))
		abort();
	for (size_t done = 0; done < size; done += piece)
		if (mmap(at + done, piece, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, memory,
			 0) == MAP_FAILED)
			abort();
	close(memory);
	return at;
}

int main(int argc, char **argv)
{
	MPI_File file;
	MPI_Datatype mebibyte;
	MPI_Status status;
	MPI_Count moved;
	char *data = buffer(3ull << 30);

	MPI_MUST(MPI_Init(&argc, &argv));
	MPI_Type_contiguous(1 << 20, MPI_BYTE, &mebibyte);
	MPI_Type_commit(&mebibyte);
	MPI_MUST(MPI_File_open(MPI_COMM_SELF, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR,
			       MPI_INFO_NULL, &file));
	MPI_MUST(MPI_File_set_size(file, 4ll << 30));
	MPI_MUST(MPI_File_read_at(file, 1 << 20, data, 3072, mebibyte, &status));
	MPI_Get_elements_x(&status, MPI_BYTE, &moved);
	printf("moved %lld\n", (long long)moved);
	MPI_MUST(MPI_File_read_at(file, (4ll << 30) - 100, data, 1, mebibyte, &status));
	MPI_Get_elements_x(&status, MPI_BYTE, &moved);
	printf("moved %lld\n", (long long)moved);
	MPI_MUST(MPI_File_close(&file));
	MPI_Type_free(&mebibyte);
	MPI_Finalize();
	return 0;
}
