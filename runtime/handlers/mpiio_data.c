/* Reads and writes of MPI files: sizes, what moved, turns of collective calls, the individual pointer. */
#include <stdatomic.h>
#include <stddef.h>

#include "handlers/mpi_abi.h"
#include "handlers/mpiio.h"

/* ---- sizes: asked once for each datatype, forgotten when it is freed ---- */

static uint64_t known_size(const struct mpi_abi *abi, uintptr_t datatype)
{
	return abi ? handle_get(&mpi_datatypes, 0, mpi_handle(abi, datatype)) : 0;
}

static int64_t times(int64_t count, uint64_t size_and_1)
{
	int64_t bytes;

	if (size_and_1 == 0 || count < 0 ||
	    __builtin_mul_overflow(count, (int64_t)(size_and_1 - 1), &bytes))
		return -1;
	return bytes;
}

int64_t mpi_bytes(int64_t count, uintptr_t datatype)
{
	return times(count, known_size(mpi_abi_known(), datatype));
}

/* Only then is the datatype surely one that may be asked about. */
int64_t mpi_learn_bytes(int64_t count, uintptr_t datatype)
{
	const struct mpi_abi *abi = mpi_abi_known();
	uint64_t size_and_1 = known_size(abi, datatype);
	int64_t size = 0;

	if (!size_and_1 && abi && abi->type_size(datatype, &size) == 0 && size >= 0) {
		size_and_1 = (uint64_t)size + 1;
		handle_put(&mpi_datatypes, 0, mpi_handle(abi, datatype), size_and_1);
	}
	return times(count, size_and_1);
}

void mpi_type_freed(const uintptr_t *datatype)
{
	const struct mpi_abi *abi = mpi_abi_known();

	if (abi && datatype)
		handle_take(&mpi_datatypes, 0, mpi_handle_at(abi, datatype, 0));
}

/* ---- what a call keeps ---- */

static struct mpi_file *file_of(const struct call *c)
{
	return (struct mpi_file *)(uintptr_t)c->scratch[KEEP_FILE];
}

int64_t mpi_turn(const struct call *c)
{
	return (int64_t)c->scratch[KEEP_TURN];
}

int64_t mpi_selection(const struct call *c)
{
	return (int64_t)c->scratch[KEEP_SELECTION];
}

int64_t mpi_given(const struct call *c)
{
	return (int64_t)c->scratch[KEEP_GIVEN];
}

/* A program that ignores the status still gets its bytes counted: the MPI fills one of ours. */
static void own_status(struct call *c, struct mpi_status **status)
{
	const struct mpi_abi *abi = mpi_abi_known();

	if (abi && status && (uintptr_t)*status == abi->facts->status_ignore)
		*status = (struct mpi_status *)&c->scratch[KEEP_STATUS];
}

static void keep(struct call *c, uintptr_t file, bool collective)
{
	struct mpi_file *f = mpi_absorbed(c) ? NULL : mpi_file(file);

	c->scratch[KEEP_FILE] = (uintptr_t)f;
	c->scratch[KEEP_TURN] = f && collective ? atomic_fetch_add(&f->turns, 1) + 1 : 0;
	if (f && f->undefined && c->thread)
		mpi_view_define(c, f);
	c->scratch[KEEP_SELECTION] = f ? f->selection : 0;
	c->scratch[KEEP_GIVEN] =
		f ? (uint64_t)atomic_load_explicit(&f->position, memory_order_relaxed)
		  : (uint64_t)UNKNOWN_OFFSET;
}

void mpi_collective(struct call *c, uintptr_t file)
{
	keep(c, file, true);
}

void mpi_data(struct call *c, uintptr_t file, bool collective, struct mpi_status **status)
{
	keep(c, file, collective);
	own_status(c, status);
}

int64_t mpi_moved(const struct call *c, const struct mpi_status *status)
{
	const struct mpi_abi *abi = mpi_abi_known();
	int64_t bytes = -1;

	if (c->error || !c->thread || !abi || (uintptr_t)status == abi->facts->status_ignore)
		return -1;
	if (abi->elements(status, abi->byte, &bytes) != 0 || bytes < 0)
		return -1; /* MPI_UNDEFINED: the MPI itself cannot say */
	return bytes;
}

/* The individual pointer moves on by what was asked; a short call leaves it where only the MPI knows. */
static void advance(struct mpi_file *f, int64_t given, int64_t asked, int64_t moved)
{
	const bool known = given != UNKNOWN_OFFSET && asked >= 0 && asked == moved && f->etype > 0;

	atomic_store_explicit(&f->position,
			      known ? given + asked / (int64_t)f->etype : UNKNOWN_OFFSET,
			      memory_order_relaxed);
}

/* `all`: everything that was asked counts as passed, as when a call only posts. */
static int64_t finish(struct call *c, int result, bool pointer, int64_t count, uintptr_t datatype,
		      bool all)
{
	struct mpi_file *f = file_of(c);
	int64_t asked = c->thread ? c->field[0] : -1;
	int64_t moved = c->thread ? c->field[2] : -1;

	if (asked < 0 && !result)
		asked = mpi_learn_bytes(count, datatype);
	if (all)
		moved = result ? -1 : asked;
	if (pointer && f)
		advance(f, mpi_given(c), asked, moved);
	c->field[0] = asked;
	return asked;
}

void mpi_data_done(struct call *c, int result, bool pointer, int64_t count, uintptr_t datatype)
{
	finish(c, result, pointer, count, datatype, false);
}

void mpi_posted(struct call *c, int result, bool pointer, int64_t count, uintptr_t datatype,
		const struct mpi_request *request)
{
	const struct mpi_abi *abi = mpi_abi_known();
	const int64_t asked = finish(c, result, pointer, count, datatype, true);

	if (result || !abi || !request || !c->thread)
		return;
	const uintptr_t handle = mpi_handle_at(abi, request, 0);
	if (handle != abi->request_null)
		mpi_pend(c, handle, asked);
}

/* ---- split collectives: the end completes the begin ---- */

void mpi_split_begun(struct call *c, int result, bool pointer, int64_t count, uintptr_t datatype)
{
	struct mpi_file *f = file_of(c);
	const int64_t asked = finish(c, result, pointer, count, datatype, true);

	if (!f || result)
		return;
	f->split = call_reference(c);
	f->split_size = asked;
}

int64_t mpi_split_size(uintptr_t file)
{
	const struct mpi_file *f = mpi_file(file);

	return f ? f->split_size : -1;
}

void mpi_split_end(struct call *c, uintptr_t file, struct mpi_status **status)
{
	keep(c, file, true);
	own_status(c, status);
}

void mpi_split_ended(struct call *c, int result)
{
	struct mpi_file *f = file_of(c);

	if (!f || result || !c->thread || !f->split.stream)
		return;
	call_link(c, f->split, LINK_COMPLETES, c->field[1] > 0 ? (uint64_t)c->field[1] : 0, 100);
	f->split.stream = 0;
}
