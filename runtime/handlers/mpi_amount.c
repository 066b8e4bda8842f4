/* How many bytes a communication call sends, from its arguments. A datatype is asked about once, and
 * only where the call uses it: an argument that a rank may leave out can be anything. */
#include <stddef.h>
#include <string.h>

#include "handlers/library.h"
#include "handlers/mpi_abi.h"
#include "handlers/mpi_comm.h"

static int64_t times(int64_t a, int64_t b)
{
	int64_t product;

	return a < 0 || b < 0 || __builtin_mul_overflow(a, b, &product) ? -1 : product;
}

int64_t mpi_amount(const struct call *c, int64_t count, uintptr_t datatype)
{
	const struct mpi_abi *abi = count > 0 && !c->error ? mpi_abi(c->wrapper) : NULL;

	if (count == 0)
		return 0;
	if (!abi || mpi_handle(abi, datatype) == mpi_handle(abi, abi->datatype_null))
		return -1;
	return mpi_learn_bytes(count, datatype);
}

int64_t mpi_to(const struct call *c, int partner, int64_t count, uintptr_t datatype)
{
	return mpi_partner(partner) == -2 ? 0 : mpi_amount(c, count, datatype);
}

static bool in_place(const struct call *c, const void *buffer)
{
	const struct mpi_abi *abi = mpi_abi(c->wrapper);

	return abi && (uintptr_t)buffer == abi->facts->in_place;
}

int64_t mpi_part(const struct call *c, int root, const void *buffer, int64_t count,
		 uintptr_t datatype, int64_t other_count, uintptr_t other_datatype)
{
	if (mpi_partner(root) == -3 || in_place(c, buffer))
		return mpi_amount(c, other_count, other_datatype);
	return mpi_to(c, root, count, datatype);
}

/* ---- arrays of counts ---- */

static int64_t count_at(const void *counts, size_t wide, int n)
{
	return wide == sizeof(int) ? ((const int *)counts)[n] : ((const int64_t *)counts)[n];
}

static int64_t sum(const void *counts, size_t wide, int n)
{
	int64_t all = 0;

	for (int i = 0; counts && i < n; i++)
		all += count_at(counts, wide, i);
	return all;
}

static int64_t sum_typed(const struct call *c, const void *counts, size_t wide,
			 const uintptr_t *datatypes, int n)
{
	const struct mpi_abi *abi = mpi_abi(c->wrapper);
	int64_t all = 0;

	for (int i = 0; abi && counts && i < n; i++) {
		const int64_t count = count_at(counts, wide, i);
		const int64_t bytes =
			count ? mpi_amount(c, count, mpi_handle_at(abi, datatypes, (size_t)i)) : 0;

		if (bytes < 0)
			return -1;
		all += bytes;
	}
	return abi ? all : -1;
}

/* Ranks that a collective sends to: of an intercommunicator the others. 0: not to be known. */
static int peers(const struct call *c, uintptr_t comm)
{
	const struct mpi_abi *abi = c->error ? NULL : mpi_abi(c->wrapper);
	int inter = 0, n = 0;

	if (!abi || abi->comm_inter(comm, &inter) != 0)
		return 0;
	return (inter ? abi->comm_remote_size : abi->comm_size)(comm, &n) == 0 ? n : 0;
}

int64_t mpi_own_part(const struct call *c, int root, uintptr_t comm, const void *buffer,
		     int64_t count, uintptr_t datatype, const void *counts, size_t wide,
		     uintptr_t other_datatype)
{
	const struct mpi_abi *abi = c->error ? NULL : mpi_abi(c->wrapper);
	int own = 0;

	if (!abi || !in_place(c, buffer))
		return mpi_partner(root) == -3 ? 0 : mpi_to(c, root, count, datatype);
	if (abi->comm_rank(comm, &own) != 0)
		return -1;
	return mpi_amount(c, count_at(counts, wide, own), other_datatype);
}

int64_t mpi_to_all(const struct call *c, uintptr_t comm, const void *buffer, int64_t count,
		   uintptr_t datatype, int64_t other_count, uintptr_t other_datatype)
{
	const int64_t one = in_place(c, buffer) ? mpi_amount(c, other_count, other_datatype)
						: mpi_amount(c, count, datatype);

	return times(one, peers(c, comm));
}

int64_t mpi_to_each(const struct call *c, uintptr_t comm, const void *buffer, const void *counts,
		    const void *other_counts, size_t wide, uintptr_t datatype,
		    uintptr_t other_datatype)
{
	const int n = peers(c, comm);

	if (in_place(c, buffer))
		return mpi_amount(c, sum(other_counts, wide, n), other_datatype);
	return mpi_amount(c, sum(counts, wide, n), datatype);
}

int64_t mpi_to_each_typed(const struct call *c, uintptr_t comm, const void *buffer,
			  const void *counts, const void *other_counts, size_t wide,
			  const uintptr_t *datatypes, const uintptr_t *other_datatypes)
{
	const int n = peers(c, comm);

	if (in_place(c, buffer))
		return sum_typed(c, other_counts, wide, other_datatypes, n);
	return sum_typed(c, counts, wide, datatypes, n);
}

int64_t mpi_of_all(const struct call *c, uintptr_t comm, const void *counts, size_t wide,
		   uintptr_t datatype)
{
	const struct mpi_abi *abi = c->error ? NULL : mpi_abi(c->wrapper);
	int n = 0;

	if (!abi || abi->comm_size(comm, &n) != 0)
		return -1;
	return mpi_amount(c, sum(counts, wide, n), datatype);
}

/* ---- neighbours ---- */

static int neighbors(const struct call *c, uintptr_t comm)
{
	const struct mpi_abi *abi = c->error ? NULL : mpi_abi(c->wrapper);
	int kind = 0, n = 0, own = 0, in = 0, weighted = 0;

	if (!abi || abi->topology(comm, &kind) != 0 || (unsigned)kind >= TOPOLOGIES)
		return 0;
	switch (abi->facts->topology[kind]) {
	case TOPOLOGY_CARTESIAN:
		return abi->cart_dimensions(comm, &n) == 0 ? 2 * n : 0;
	case TOPOLOGY_GRAPH:
		if (abi->comm_rank(comm, &own) != 0)
			return 0;
		return abi->graph_neighbors(comm, own, &n) == 0 ? n : 0;
	case TOPOLOGY_DIST_GRAPH:
		return abi->dist_graph_neighbors(comm, &in, &n, &weighted) == 0 ? n : 0;
	}
	return 0;
}

int64_t mpi_to_neighbors(const struct call *c, uintptr_t comm, int64_t count, uintptr_t datatype)
{
	return times(mpi_amount(c, count, datatype), neighbors(c, comm));
}

int64_t mpi_to_each_neighbor(const struct call *c, uintptr_t comm, const void *counts, size_t wide,
			     uintptr_t datatype)
{
	return mpi_amount(c, sum(counts, wide, neighbors(c, comm)), datatype);
}

int64_t mpi_to_each_neighbor_typed(const struct call *c, uintptr_t comm, const void *counts,
				   size_t wide, const uintptr_t *datatypes)
{
	return sum_typed(c, counts, wide, datatypes, neighbors(c, comm));
}
