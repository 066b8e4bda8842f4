/* A slow exchange on demand: a preload library that delays ranks inside the collectives of two-phase I/O.
 *
 *	SLOW_EXCHANGE_US       sleep before each PMPI_Alltoall (default 0)
 *	SLOW_EXCHANGE_RANK     of this rank (default 0)
 *	SLOW_EXCHANGE_RATE_MB  MB/s at which each rank receives what it waits for by PMPI_Irecv, 10^6 bytes (default unlimited)
 *
 * ROMIO calls these through slots, in every MPI that has it: the definitions here come first in the process, so the
 * sleep is inside the library's own call, and the other ranks wait in theirs. Handles travel as they come, integers
 * or pointers. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

int PMPI_Alltoall(const void *sendbuf, int sendcount, uintptr_t sendtype, void *recvbuf,
		  int recvcount, uintptr_t recvtype, uintptr_t comm);
int PMPI_Irecv(void *buf, int count, uintptr_t type, int source, int tag, uintptr_t comm,
	       void *request);

static int number(const char *name)
{
	const char *value = getenv(name);

	return value ? atoi(value) : 0;
}

static int own_rank(void)
{
	return getenv("PMI_RANK") ? number("PMI_RANK") : number("OMPI_COMM_WORLD_RANK");
}

static void pause_ns(int64_t ns)
{
	const struct timespec delay = {ns / 1000000000, ns % 1000000000};

	nanosleep(&delay, NULL);
}

int PMPI_Alltoall(const void *sendbuf, int sendcount, uintptr_t sendtype, void *recvbuf,
		  int recvcount, uintptr_t recvtype, uintptr_t comm)
{
	static int (*next)(const void *, int, uintptr_t, void *, int, uintptr_t, uintptr_t);

	if (!next)
		next = dlsym(RTLD_NEXT, "PMPI_Alltoall");
	if (!next)
		abort();
	if (own_rank() == number("SLOW_EXCHANGE_RANK"))
		pause_ns(number("SLOW_EXCHANGE_US") * 1000L);
	return next(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm);
}

int PMPI_Irecv(void *buf, int count, uintptr_t type, int source, int tag, uintptr_t comm,
	       void *request)
{
	static int (*next)(void *, int, uintptr_t, int, int, uintptr_t, void *);
	static int (*type_size)(uintptr_t, int *);
	const int rate = number("SLOW_EXCHANGE_RATE_MB");
	int size = 0;

	if (!next) {
		next = dlsym(RTLD_NEXT, "PMPI_Irecv");
		type_size = dlsym(RTLD_NEXT, "PMPI_Type_size");
	}
	if (!next || !type_size)
		abort();
	if (rate > 0 && type_size(type, &size) == 0)
		pause_ns((int64_t)count * size * 1000 / rate);
	return next(buf, count, type, source, tag, comm, request);
}
