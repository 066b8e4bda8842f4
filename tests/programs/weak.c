/* Asks whether MPI and HDF5 are there, as libraries do that can live without. They are not. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>

extern int MPI_Initialized(int *flag) __attribute__((weak));
extern int H5open(void) __attribute__((weak));

int main(void)
{
	int (*volatile initialized)(int *) = MPI_Initialized;
	int (*volatile opened)(void) = H5open;

	printf("weak MPI_Initialized %d\n", initialized != NULL);
	printf("weak H5open %d\n", opened != NULL);
	printf("dlsym H5open %d\n", dlsym(RTLD_DEFAULT, "H5open") != NULL);
	printf("dlsym MPI_File_open %d\n", dlsym(RTLD_DEFAULT, "MPI_File_open") != NULL);
	printf("dlsym PMPI_Init %d\n", dlsym(RTLD_DEFAULT, "PMPI_Init") != NULL);
	printf("dlsym next pwrite %d\n", dlsym(RTLD_NEXT, "pwrite") != NULL);
	return 0;
}
