/* What the rows of catalog/probes/mpi.toml use: how many bytes a call sends, whom to, on which
 * communicator. Only local queries, and none where the arguments mean nothing. Amounts are -1 when
 * the datatype cannot be asked about. `wide`: bytes of one count in an array, 4 or 8 (large counts). */
#ifndef FATHOM_MPI_COMM_H
#define FATHOM_MPI_COMM_H

#include <stdint.h>

#include "handlers/mpiio.h"

struct mpi_message; /* what a pointer to a message handle points to */

/* ---- whom to ---- */
int64_t mpi_partner(int rank); /* -1 any, -2 nobody, -3 MPI_ROOT */

/* ---- how much ---- */
int64_t mpi_amount(const struct call *c, int64_t count, uintptr_t datatype);
int64_t mpi_to(const struct call *c, int partner, int64_t count, uintptr_t datatype);
/* One rank's part; where `buffer` is MPI_IN_PLACE, or at MPI_ROOT, the other pair says how much. */
int64_t mpi_part(const struct call *c, int root, const void *buffer, int64_t count,
		 uintptr_t datatype, int64_t other_count, uintptr_t other_datatype);
/* The same where the other side has a count for each rank. */
int64_t mpi_own_part(const struct call *c, int root, uintptr_t comm, const void *buffer,
		     int64_t count, uintptr_t datatype, const void *counts, size_t wide,
		     uintptr_t other_datatype);
int64_t mpi_to_all(const struct call *c, uintptr_t comm, const void *buffer, int64_t count,
		   uintptr_t datatype, int64_t other_count, uintptr_t other_datatype);
int64_t mpi_to_each(const struct call *c, uintptr_t comm, const void *buffer, const void *counts,
		    const void *other_counts, size_t wide, uintptr_t datatype,
		    uintptr_t other_datatype);
int64_t mpi_to_each_typed(const struct call *c, uintptr_t comm, const void *buffer,
			  const void *counts, const void *other_counts, size_t wide,
			  const uintptr_t *datatypes, const uintptr_t *other_datatypes);
int64_t mpi_of_all(const struct call *c, uintptr_t comm, const void *counts, size_t wide,
		   uintptr_t datatype);
int64_t mpi_to_neighbors(const struct call *c, uintptr_t comm, int64_t count, uintptr_t datatype);
int64_t mpi_to_each_neighbor(const struct call *c, uintptr_t comm, const void *counts, size_t wide,
			     uintptr_t datatype);
int64_t mpi_to_each_neighbor_typed(const struct call *c, uintptr_t comm, const void *counts,
				   size_t wide, const uintptr_t *datatypes);

/* ---- what arrived: a program that ignores the status gets one of ours ---- */
void mpi_receive(struct call *c, struct mpi_status **status);
int64_t mpi_arrived(const struct call *c, const struct mpi_status *status);
int64_t mpi_source(const struct call *c, const struct mpi_status *status, int asked);
int64_t mpi_tag(const struct call *c, const struct mpi_status *status, int asked);

/* ---- on which communicator ---- */
void mpi_on(struct call *c, uintptr_t comm);
void mpi_looked(struct call *c, uintptr_t comm, const int *flag);
void mpi_tested(struct call *c, const int *flag);
uint32_t mpi_comm_object_at(const uintptr_t *comm);
void mpi_comm_leaving(struct call *c, const uintptr_t *comm);

#endif
