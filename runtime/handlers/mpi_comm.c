/* Messages and collectives: whom to, on which communicator. Counted calls have no object: their
 * cost is that of their size. */
#include "handlers/mpi_comm.h"

#include <string.h>

#include "handlers/library.h"
#include "handlers/mpi_abi.h"

enum { PARTNER_ANY = -1, PARTNER_NOBODY = -2, PARTNER_ROOT = -3, NAME = 256 };

int64_t mpi_partner(int rank)
{
	const struct mpi_abi *abi = mpi_abi_known();

	if (rank >= 0 || !abi)
		return rank;
	if (rank == abi->facts->any_source)
		return PARTNER_ANY;
	return rank == abi->facts->proc_null ? PARTNER_NOBODY : PARTNER_ROOT;
}

/* ---- what arrived ---- */

void mpi_receive(struct call *c, struct mpi_status **status)
{
	const struct mpi_abi *abi = mpi_abi(c->wrapper);

	if (!abi || (uintptr_t)*status != abi->facts->status_ignore)
		return;
	memset(&c->scratch[KEEP_STATUS], 0, MPI_STATUS_BYTES);
	*status = (struct mpi_status *)&c->scratch[KEEP_STATUS];
}

static bool has_status(const struct call *c, const struct mpi_abi *abi,
		       const struct mpi_status *status)
{
	return !c->error && abi && (uintptr_t)status != abi->facts->status_ignore;
}

int64_t mpi_arrived(const struct call *c, const struct mpi_status *status)
{
	const struct mpi_abi *abi = mpi_abi_known();
	int64_t bytes = -1;

	if (!has_status(c, abi, status) || abi->elements(status, abi->byte, &bytes) != 0)
		return -1;
	return bytes;
}

static int number_at(const struct mpi_status *status, uint32_t at)
{
	int number;

	memcpy(&number, (const char *)status + at, sizeof(number));
	return number;
}

int64_t mpi_source(const struct call *c, const struct mpi_status *status, int asked)
{
	const struct mpi_abi *abi = mpi_abi_known();

	return mpi_partner(has_status(c, abi, status) ? number_at(status, abi->facts->status_source)
						      : asked);
}

int64_t mpi_tag(const struct call *c, const struct mpi_status *status, int asked)
{
	const struct mpi_abi *abi = mpi_abi_known();

	return has_status(c, abi, status) ? number_at(status, abi->facts->status_tag) : asked;
}

/* ---- communicators ---- */

static bool is_event(const struct call *c)
{
	return c->seq != UINT64_MAX;
}

static uint32_t define(struct call *c, const struct mpi_abi *abi, uintptr_t comm)
{
	char name[NAME] = ""; /* MPI_MAX_OBJECT_NAME is 128 in MPICH, 64 in Open MPI */
	struct group_def group;
	int length = 0, size = 0;
	uint32_t object;

	if (abi->comm_size(comm, &size) != 0 || abi->comm_name(comm, name, &length) != 0)
		return 0;
	const struct object_def def = {.name = name, .number = {(uint64_t)size}, .numbers = 1};
	object = object_define(c, OBJECT_COMMUNICATOR, &def);
	if (mpi_group(abi, comm, &group))
		object_group(c, object, &group);
	handle_put(&mpi_comms, 0, mpi_handle(abi, comm), object);
	return object;
}

/* Only of a call that succeeded: then the communicator surely is one. */
void mpi_on(struct call *c, uintptr_t comm)
{
	const struct mpi_abi *abi = is_event(c) && !c->error ? mpi_abi(c->wrapper) : NULL;

	if (!abi || mpi_handle(abi, comm) == mpi_handle(abi, abi->comm_null))
		return;
	KEEP_ERRNO;
	c->object = (uint32_t)handle_get(&mpi_comms, 0, mpi_handle(abi, comm));
	if (!c->object)
		c->object = define(c, abi, comm);
}

/* What found nothing is counted only: programs ask thousands of times. */
void mpi_tested(struct call *c, const int *flag)
{
	if (flag && *flag <= 0)
		call_count(c);
}

void mpi_looked(struct call *c, uintptr_t comm, const int *flag)
{
	mpi_on(c, comm);
	mpi_tested(c, flag);
}

uint32_t mpi_comm_object_at(const uintptr_t *comm)
{
	const struct mpi_abi *abi = mpi_abi_known();

	return abi && comm ? (uint32_t)handle_get(&mpi_comms, 0, mpi_handle_at(abi, comm, 0)) : 0;
}

/* Before the call: right after it the handle may be another's. */
void mpi_comm_leaving(struct call *c, const uintptr_t *comm)
{
	const struct mpi_abi *abi = mpi_absorbed(c) ? NULL : mpi_abi_known();

	if (abi && comm)
		handle_take(&mpi_comms, 0, mpi_handle_at(abi, comm, 0));
}
