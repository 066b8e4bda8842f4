#include <fcntl.h>
#include <mpi.h>
#include <netcdf.h>
#include <pnetcdf.h>
#include <stdio.h>
#include <unistd.h>

enum { ROWS = 3, COLUMNS = 512 };

static int data[ROWS * COLUMNS];

static void of_all(int rank, int ranks)
{
	MPI_Offset start[2] = {(MPI_Offset)ROWS * rank, 0}, count[2] = {1, COLUMNS};
	int file, dims[2], cells;

	ncmpi_create(MPI_COMM_WORLD, "cells.nc", NC_CLOBBER, MPI_INFO_NULL, &file);
	ncmpi_def_dim(file, "row", (MPI_Offset)ROWS * ranks, &dims[0]);
	ncmpi_def_dim(file, "column", COLUMNS, &dims[1]);
	ncmpi_def_var(file, "cells", NC_INT, 2, dims, &cells);
	ncmpi_enddef(file);
	for (int row = 0; row < ROWS; row++, start[0]++)
		ncmpi_put_vara_int_all(file, cells, start, count, data);
	ncmpi_close(file);
}

static void of_one(int rank)
{
	size_t start = 0, count = COLUMNS;
	char name[32];
	int file, dim, cells;

	sprintf(name, "cells.%d.nc", rank);
	nc_create(name, NC_CLOBBER, &file);
	nc_def_dim(file, "column", COLUMNS, &dim);
	nc_def_var(file, "cells", NC_INT, 1, &dim, &cells);
	nc_enddef(file);
	nc_put_vara_int(file, cells, &start, &count, data);
	nc_close(file);
}

static void viewed(int rank)
{
	MPI_File file;

	MPI_File_open(MPI_COMM_WORLD, "cells.raw", MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL,
		      &file);
	for (int i = 0; i < 2; i++) {
		MPI_File_set_view(file, 100 + 4096 * (2 * i + rank), MPI_INT, MPI_INT, "native",
				  MPI_INFO_NULL);
		MPI_File_write_at(file, 10, data, 20, MPI_INT, MPI_STATUS_IGNORE);
		MPI_File_write_at(file, 50, data, 20, MPI_INT, MPI_STATUS_IGNORE);
	}
	MPI_File_close(&file);
}

static void steps(int rank)
{
	char name[32];
	int fd;

	sprintf(name, "cells.%d.raw", rank);
	fd = open(name, O_RDWR | O_CREAT | O_TRUNC, 0644);
	write(fd, data, 100);
	for (int i = 0; i < 2; i++) {
		lseek(fd, 50 + i, SEEK_CUR);
		write(fd, data, 10);
	}
	close(fd);
}

int main(int argc, char **argv)
{
	int rank, ranks;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	of_all(rank, ranks);
	of_one(rank);
	viewed(rank);
	steps(rank);
	MPI_Finalize();
	return 0;
}
