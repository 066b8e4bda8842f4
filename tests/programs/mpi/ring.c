/* Each rank sends to the next one, which takes it from anybody: rank r `turn + r` numbers with tag `turn`. In the last turn
 * both at once. On a second communicator sends are posted. */
#include <stdlib.h>

#include "check.h"

enum { TURNS = 3, ROOM = 1000 };

int main(int argc, char **argv)
{
	int send[ROOM] = {0}, receive[ROOM], rank, ranks;
	MPI_Comm other;
	MPI_Request request;

	MPI_MUST(MPI_Init(&argc, &argv));
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	/* The order of ranks turned round: what is no copy of the world is another communicator in a trace. */
	MPI_MUST(MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &other));

	const int next = (rank + 1) % ranks, last = (rank + ranks - 1) % ranks;

	for (int turn = 0; turn < TURNS; turn++) {
		if (rank == 0)
			MPI_MUST(MPI_Send(send, turn + rank, MPI_INT, next, turn, MPI_COMM_WORLD));
		MPI_MUST(MPI_Recv(receive, ROOM, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG,
				  MPI_COMM_WORLD, MPI_STATUS_IGNORE));
		if (rank > 0)
			MPI_MUST(MPI_Ssend(send, turn + rank, MPI_INT, next, turn, MPI_COMM_WORLD));
	}
	MPI_MUST(MPI_Sendrecv(send, TURNS + rank, MPI_INT, next, TURNS, receive, ROOM, MPI_INT,
			      last, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
	/* The order is turned round, so the neighbours are those on the other side. */
	MPI_MUST(MPI_Isend(send, 1, MPI_INT, ranks - 1 - next, 7, other, &request));
	MPI_MUST(MPI_Recv(receive, ROOM, MPI_INT, ranks - 1 - last, 7, other, MPI_STATUS_IGNORE));
	MPI_MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
	MPI_Finalize();
	return 0;
}
