#define _GNU_SOURCE
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

static char bytes[1 << 16];

static void own_file(int rank)
{
	struct iovec two[2] = {{bytes, 10}, {bytes, 20}};
	char name[32];
	int fd;

	sprintf(name, "data.%d", rank);
	fd = open(name, O_RDWR | O_CREAT | O_TRUNC, 0644);
	for (int i = 0; i < 5; i++)
		write(fd, bytes, 4096 + i);
	for (int i = 0; i < 40; i++)
		pwrite(fd, bytes, 1000, 100000 * (i % 8));
	lseek(fd, 100, SEEK_SET);
	for (int i = 0; i < 2; i++)
		read(fd, bytes, 512);
	pread(fd, bytes, 100, 5000);
	writev(fd, two, 2);
	fsync(fd);
	ftruncate(fd, 50000);
	close(fd);
	fd = open(name, O_WRONLY | O_APPEND);
	write(fd, bytes, 11);
	close(fd);
}

static void stream(int rank)
{
	char name[32];
	FILE *text;

	sprintf(name, "text.%d", rank);
	text = fopen(name, "w");
	fwrite(bytes, 10, 20, text);
	fclose(text);
	text = fopen(name, "r");
	fseek(text, 5, SEEK_SET);
	fread(bytes, 1, 100, text);
	fclose(text);
	unlink(name);
}

static void shared(int rank)
{
	MPI_File file;

	MPI_File_open(MPI_COMM_WORLD, "shared", MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL,
		      &file);
	for (int i = 0; i < 4; i++)
		MPI_File_write_at_all(file, 8192 * (2 * i + rank), bytes, 8192, MPI_BYTE,
				      MPI_STATUS_IGNORE);
	for (int i = 0; i < 3; i++)
		MPI_File_write_at(file, 100000 + 4000 * (2 * i + rank), bytes, 1000, MPI_INT,
				  MPI_STATUS_IGNORE);
	MPI_File_sync(file);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_File_read_at(file, 8192 * (1 - rank), bytes, 8192, MPI_BYTE, MPI_STATUS_IGNORE);
	MPI_File_close(&file);
}

int main(int argc, char **argv)
{
	int rank;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	own_file(rank);
	stream(rank);
	shared(rank);
	access("missing", F_OK);
	MPI_Finalize();
	return 0;
}
