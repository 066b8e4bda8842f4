/* A slow exchange on demand: a preload library that delays one rank inside the collectives of two-phase I/O.
 *
 *	SLOW_EXCHANGE_US     sleep before each PMPI_Alltoall (default 0)
 *	SLOW_EXCHANGE_RANK   of this rank (default 0)
 *
 * ROMIO calls PMPI_Alltoall through a slot, in every MPI that has it: this definition comes first in the
 * process, so the sleep is inside the library's own call, and the other ranks wait in theirs. Handles travel
 * as they come, integers or pointers. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

int PMPI_Alltoall(const void *sendbuf, int sendcount, uintptr_t sendtype, void *recvbuf,
		  int recvcount, uintptr_t recvtype, uintptr_t comm);

static int number(const char *name)
{
	const char *value = getenv(name);

	return value ? atoi(value) : 0;
}

static int own_rank(void)
{
	return getenv("PMI_RANK") ? number("PMI_RANK") : number("OMPI_COMM_WORLD_RANK");
}

int PMPI_Alltoall(const void *sendbuf, int sendcount, uintptr_t sendtype, void *recvbuf,
		  int recvcount, uintptr_t recvtype, uintptr_t comm)
{
	static int (*next)(const void *, int, uintptr_t, void *, int, uintptr_t, uintptr_t);
	const long us = number("SLOW_EXCHANGE_US");
	const struct timespec delay = {us / 1000000, us % 1000000 * 1000};

	if (!next)
		next = dlsym(RTLD_NEXT, "PMPI_Alltoall");
	if (!next)
		abort();
	if (own_rank() == number("SLOW_EXCHANGE_RANK"))
		nanosleep(&delay, NULL);
	return next(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm);
}
