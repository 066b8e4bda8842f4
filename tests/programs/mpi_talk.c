/* Messages, collectives and one-sided calls of every kind. The program keeps its own account of its calls and
 * of the bytes that this rank puts in, and writes it to ARGV[1].RANK as lines `rank,op,calls,bytes,errors`.
 *
 * What the trace must show: the same numbers in `counters`, whether the calls are events or counted. */
#include <pthread.h>
#include <string.h>

#include "mpi/check.h"

enum { COUNT = 100, RANKS = 16, OPS = 128 };

static struct {
	struct entry {
		const char *op;
		long calls, bytes, errors;
	} entry[OPS];
	pthread_mutex_t lock;
} account = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void add(const char *op, long bytes, int result)
{
	int i = 0;

	pthread_mutex_lock(&account.lock);
	while (account.entry[i].op && strcmp(account.entry[i].op, op) != 0)
		i++;
	account.entry[i].op = op;
	account.entry[i].calls++;
	account.entry[i].bytes += result ? 0 : bytes;
	account.entry[i].errors += result != 0;
	pthread_mutex_unlock(&account.lock);
}

/* A call of this op that puts `bytes` in. */
#define TALK(op, bytes, ...) add(#op, (bytes), op(__VA_ARGS__))

static int rank, ranks, left, right;
static int data[RANKS * COUNT], more[RANKS * COUNT];
static const long all = COUNT * sizeof(int);

static void messages(MPI_Comm comm)
{
	MPI_Request request[4];
	MPI_Status status;
	int flag, index, completed, some[2];

	TALK(MPI_Sendrecv, all, data, COUNT, MPI_INT, right, 7, more, COUNT, MPI_INT, left, 7, comm,
	     &status);
	TALK(MPI_Sendrecv_replace, all, data, COUNT, MPI_INT, right, 8, MPI_ANY_SOURCE, MPI_ANY_TAG,
	     comm, MPI_STATUS_IGNORE);
	TALK(MPI_Irecv, 0, more, COUNT, MPI_INT, MPI_ANY_SOURCE, 9, comm, &request[0]);
	TALK(MPI_Isend, all, data, COUNT, MPI_INT, right, 9, comm, &request[1]);
	TALK(MPI_Waitall, 0, 2, request, MPI_STATUSES_IGNORE);
	TALK(MPI_Isend, 40, data, 10, MPI_INT, right, 10, comm, &request[0]);
	TALK(MPI_Probe, 0, left, 10, comm, &status);
	TALK(MPI_Recv, 40, more, COUNT, MPI_INT, MPI_ANY_SOURCE, 10, comm, MPI_STATUS_IGNORE);
	TALK(MPI_Wait, 0, &request[0], &status);
	TALK(MPI_Send, 0, data, COUNT, MPI_INT, MPI_PROC_NULL, 1, comm);
	TALK(MPI_Recv, 0, data, COUNT, MPI_INT, MPI_PROC_NULL, 1, comm, &status);
	TALK(MPI_Send_init, 0, data, COUNT, MPI_INT, right, 11, comm, &request[0]);
	TALK(MPI_Recv_init, 0, more, COUNT, MPI_INT, left, 11, comm, &request[1]);
	for (int i = 0; i < 3; i++) {
		TALK(MPI_Startall, 0, 2, request);
		TALK(MPI_Waitany, 0, 2, request, &index, &status);
		TALK(MPI_Waitany, 0, 2, request, &index, MPI_STATUS_IGNORE);
	}
	TALK(MPI_Request_free, 0, &request[0]);
	TALK(MPI_Request_free, 0, &request[1]);
	TALK(MPI_Irecv, 0, more, 1, MPI_CHAR, rank, 12, comm, &request[0]);
	for (int i = 0; i < 50; i++)
		TALK(MPI_Test, 0, &request[0], &flag, &status);
	TALK(MPI_Iprobe, 0, rank, 99, comm, &flag, &status);
	TALK(MPI_Ssend, 0, data, 0, MPI_CHAR, rank, 12, comm);
	TALK(MPI_Waitsome, 0, 1, request, &completed, some, MPI_STATUSES_IGNORE);
}

static void types(MPI_Comm comm)
{
	MPI_Datatype pairs;

	MPI_Type_vector(COUNT / 2, 1, 2, MPI_INT, &pairs);
	MPI_Type_commit(&pairs);
	TALK(MPI_Bcast, all / 2, data, 1, pairs, 0, comm);
	TALK(MPI_Bcast, all / 2, data, 1, pairs, 0, comm);
	MPI_Type_free(&pairs);
	/* Its handle may be the freed one's. */
	MPI_Type_contiguous(3, MPI_CHAR, &pairs);
	MPI_Type_commit(&pairs);
	TALK(MPI_Bcast, 30, data, 10, pairs, 0, comm);
	MPI_Type_free(&pairs);
}

static void collectives(MPI_Comm comm)
{
	int counts[RANKS], starts[RANKS], one[RANKS];
	MPI_Datatype types[RANKS];
	MPI_Request request[3];
	long sum = 0;

	for (int i = 0; i < ranks; i++) {
		counts[i] = i + 1;
		starts[i] = i * COUNT;
		one[i] = 2;
		types[i] = i % 2 ? MPI_CHAR : MPI_INT;
		sum += counts[i];
	}
	TALK(MPI_Barrier, 0, comm);
	TALK(MPI_Bcast, all, data, COUNT, MPI_INT, 0, comm);
	TALK(MPI_Gather, 40, data, 10, MPI_INT, more, 10, MPI_INT, 1, comm);
	TALK(MPI_Gather, 20, rank == 1 ? MPI_IN_PLACE : data, 5, MPI_INT, more, 5, MPI_INT, 1,
	     comm);
	TALK(MPI_Gatherv, 4 * (rank + 1), data, rank + 1, MPI_INT, more, counts, starts, MPI_INT, 0,
	     comm);
	TALK(MPI_Scatter, 40, data, 10, MPI_INT, more, 10, MPI_INT, 0, comm);
	TALK(MPI_Scatterv, 4 * (rank + 1), data, counts, starts, MPI_INT, more, rank + 1, MPI_INT,
	     0, comm);
	TALK(MPI_Allgather, 12, data, 3, MPI_INT, more, 3, MPI_INT, comm);
	TALK(MPI_Allgather, 12, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, more, 3, MPI_INT, comm);
	TALK(MPI_Allgatherv, 4 * (rank + 1), MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, more, counts,
	     starts, MPI_INT, comm);
	TALK(MPI_Alltoall, 8 * ranks, data, 2, MPI_INT, more, 2, MPI_INT, comm);
	TALK(MPI_Alltoallv, 8 * ranks, data, one, starts, MPI_INT, more, one, starts, MPI_INT,
	     comm);
	for (int i = 0; i < ranks; i++)
		types[i] = (i + rank) % 2 ? MPI_CHAR : MPI_INT;
	TALK(MPI_Alltoallw, 2 * (ranks / 2 + 4 * (ranks / 2)), data, one, starts, types, more, one,
	     starts, types, comm);
	TALK(MPI_Reduce, 8, data, more, 2, MPI_INT, MPI_SUM, 0, comm);
	TALK(MPI_Allreduce, 80, MPI_IN_PLACE, more, 10, MPI_DOUBLE, MPI_MAX, comm);
	TALK(MPI_Reduce_scatter, 4 * sum, data, more, counts, MPI_INT, MPI_SUM, comm);
	TALK(MPI_Reduce_scatter_block, 4 * ranks, data, more, 1, MPI_INT, MPI_SUM, comm);
	TALK(MPI_Scan, 4, data, more, 1, MPI_INT, MPI_SUM, comm);
	TALK(MPI_Exscan, 4, data, more, 1, MPI_INT, MPI_SUM, comm);
	TALK(MPI_Ibarrier, 0, comm, &request[0]);
	TALK(MPI_Iallreduce, 4, data, more, 1, MPI_INT, MPI_SUM, comm, &request[1]);
	TALK(MPI_Ialltoall, 4 * ranks, data, 1, MPI_INT, more + COUNT, 1, MPI_INT, comm,
	     &request[2]);
	TALK(MPI_Waitall, 0, 3, request, MPI_STATUSES_IGNORE);
}

static void communicators(void)
{
	MPI_Comm dup, half, ring, between;
	int dims[1] = {ranks}, periods[1] = {1};

	TALK(MPI_Comm_dup, 0, MPI_COMM_WORLD, &dup);
	MPI_Comm_set_name(dup, "the copy");
	TALK(MPI_Allreduce, 4, data, more, 1, MPI_INT, MPI_SUM, dup);
	TALK(MPI_Comm_split, 0, MPI_COMM_WORLD, rank % 2, rank, &half);
	TALK(MPI_Alltoall, 4 * (ranks / 2), data, 1, MPI_INT, more, 1, MPI_INT, half);
	TALK(MPI_Cart_create, 0, MPI_COMM_WORLD, 1, dims, periods, 0, &ring);
	TALK(MPI_Neighbor_allgather, 4, data, 1, MPI_INT, more, 1, MPI_INT, ring);
	TALK(MPI_Neighbor_alltoall, 2 * 4, data, 1, MPI_INT, more, 1, MPI_INT, ring);
	TALK(MPI_Intercomm_create, 0, half, 0, MPI_COMM_WORLD, !(rank % 2), 5, &between);
	TALK(MPI_Bcast,
	     rank % 2 ? 4
	     : rank   ? 0
		      : 4,
	     data, 1, MPI_INT,
	     rank % 2 ? 0
	     : rank   ? MPI_PROC_NULL
		      : MPI_ROOT,
	     between);
	TALK(MPI_Allgather, 4, data, 1, MPI_INT, more, 1, MPI_INT, between);
	TALK(MPI_Comm_free, 0, &between);
	TALK(MPI_Comm_free, 0, &ring);
	TALK(MPI_Comm_free, 0, &half);
	TALK(MPI_Comm_free, 0, &dup);
}

static void windows(void)
{
	MPI_Win window;

	TALK(MPI_Win_create, 0, more, sizeof(more), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD,
	     &window);
	TALK(MPI_Win_fence, 0, 0, window);
	TALK(MPI_Put, 20, data, 5, MPI_INT, right, 0, 5, MPI_INT, window);
	TALK(MPI_Win_fence, 0, 0, window);
	TALK(MPI_Win_lock, 0, MPI_LOCK_SHARED, left, 0, window);
	TALK(MPI_Get, 12, data, 3, MPI_INT, left, 8, 3, MPI_INT, window);
	TALK(MPI_Win_unlock, 0, left, window);
	TALK(MPI_Win_free, 0, &window);
}

/* Of these the library says no: the program goes on with the code. */
static void errors(void)
{
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	TALK(MPI_Send, 4, data, 1, MPI_INT, 1000, 1, MPI_COMM_WORLD);
	TALK(MPI_Allreduce, 4, data, more, 1, MPI_INT, MPI_SUM, MPI_COMM_NULL);
	TALK(MPI_Bcast, 4, data, -1, MPI_INT, 0, MPI_COMM_WORLD);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

static void *talk_aside(void *comm)
{
	int own = rank;

	for (int i = 0; i < 20; i++)
		TALK(MPI_Sendrecv, 4, &own, 1, MPI_INT, right, 1, more, 1, MPI_INT, left, 1,
		     *(MPI_Comm *)comm, MPI_STATUS_IGNORE);
	return NULL;
}

static void threads(int provided)
{
	MPI_Comm comm[2];
	pthread_t thread;

	for (int i = 0; i < 2; i++)
		TALK(MPI_Comm_dup, 0, MPI_COMM_WORLD, &comm[i]);
	if (provided == MPI_THREAD_MULTIPLE) {
		pthread_create(&thread, NULL, talk_aside, &comm[0]);
		TALK(MPI_Allreduce, 4, data, data + 1, 1, MPI_INT, MPI_SUM, comm[1]);
		pthread_join(thread, NULL);
	}
	for (int i = 0; i < 2; i++)
		TALK(MPI_Comm_free, 0, &comm[i]);
}

static void write_account(const char *path)
{
	char name[4096];
	FILE *file;

	snprintf(name, sizeof(name), "%s.%d", path, rank);
	file = fopen(name, "w");
	if (!file)
		MPI_Abort(MPI_COMM_WORLD, 98);
	fprintf(file, "rank,op,calls,bytes,errors\n");
	for (struct entry *e = account.entry; e->op; e++)
		fprintf(file, "%d,%s,%ld,%ld,%ld\n", rank, e->op, e->calls, e->bytes, e->errors);
	fclose(file);
}

int main(int argc, char **argv)
{
	int provided;

	MPI_MUST(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided));
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	right = (rank + 1) % ranks;
	left = (rank + ranks - 1) % ranks;
	messages(MPI_COMM_WORLD);
	types(MPI_COMM_WORLD);
	collectives(MPI_COMM_WORLD);
	communicators();
	windows();
	errors();
	threads(provided);
	write_account(argv[1]);
	MPI_Finalize();
	return 0;
}
