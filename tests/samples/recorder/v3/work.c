#define _GNU_SOURCE
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
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
	for (int i = 0; i < 3; i++)
		write(fd, bytes, 4096 + i);
	for (int i = 0; i < 8; i++)
		pwrite(fd, bytes, 1000, 65536 * rank + 4096 * (i % 4));
	/* Rank 1 makes one more: ranks are compared where they made equally many. */
	if (rank == 1)
		lseek(fd, 9, SEEK_SET);
	for (int i = 0; i < 2; i++) {
		lseek(fd, 100 * (rank > 1 ? rank - 1 : rank) + 64 * i, SEEK_SET);
		read(fd, bytes, 512);
	}
	for (int i = 0; i < 2; i++)
		pread(fd, bytes, 100, 50 * rank + 5000 * i);
	writev(fd, two, 2);
	fsync(fd);
	ftruncate(fd, 50000);
	close(fd);
	fd = open(name, O_WRONLY | O_APPEND);
	write(fd, bytes, 11);
	close(fd);
}

static void one_file(int rank, int ranks)
{
	int fd = open("all", O_RDWR | O_CREAT, 0644);

	for (int i = 0; i < 4; i++)
		pwrite(fd, bytes, 1000, 1000 * (ranks * i + rank));
	if (rank == 0)
		pwrite(fd, bytes, 7, 123456);
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
	unlink(name);
}

static void shared(int rank, int ranks)
{
	MPI_File file;

	MPI_File_open(MPI_COMM_WORLD, "shared", MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL,
		      &file);
	for (int i = 0; i < 3; i++)
		MPI_File_write_at_all(file, 8192 * (ranks * i + rank), bytes, 8192, MPI_BYTE,
				      MPI_STATUS_IGNORE);
	for (int i = 0; i < 3; i++)
		MPI_File_write_at(file, 200000 + 4000 * (ranks * i + rank), bytes, 1000, MPI_INT,
				  MPI_STATUS_IGNORE);
	MPI_File_sync(file);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_File_read_at(file, 8192 * (ranks - 1 - rank), bytes, 8192, MPI_BYTE, MPI_STATUS_IGNORE);
	MPI_File_close(&file);
}

int main(int argc, char **argv)
{
	int rank, ranks;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	own_file(rank);
	one_file(rank, ranks);
	stream(rank);
	shared(rank, ranks);
	access("missing", F_OK);
	MPI_Finalize();
	return 0;
}
