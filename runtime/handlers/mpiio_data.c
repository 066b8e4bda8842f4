/* Reads and writes of MPI files: sizes, what moved, turns of collective calls, the individual pointer. */
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>

#include "handlers/mpi_abi.h"
#include "handlers/mpiio.h"

/* ---- datatypes: asked about once each, forgotten when they are freed ---- */

/* Of a datatype's entry: its size and 1, and whether it has holes, alone or with more behind it. */
enum { BY_SIZE, BY_NUMBER }; /* the two entries that it has in the table */
#define HOLES_ALONE (1ull << 63)
#define HOLES_AFTER (1ull << 62)

static uint64_t known(const struct mpi_abi *abi, uintptr_t datatype)
{
	return abi ? handle_get(&mpi_datatypes, BY_SIZE, mpi_handle(abi, datatype)) : 0;
}

static int64_t times(int64_t count, uint64_t entry)
{
	const uint64_t size_and_1 = entry & ~(HOLES_ALONE | HOLES_AFTER);
	int64_t bytes;

	if (size_and_1 == 0 || count < 0 ||
	    __builtin_mul_overflow(count, (int64_t)(size_and_1 - 1), &bytes))
		return -1;
	return bytes;
}

int64_t mpi_bytes(int64_t count, uintptr_t datatype)
{
	return times(count, known(mpi_abi_known(), datatype));
}

static uint64_t holes(const struct mpi_abi *abi, uintptr_t datatype, int64_t size)
{
	int64_t lb, extent = size, reach = size;

	if (abi->type_extent(datatype, &lb, &extent) != 0 ||
	    abi->type_true_extent(datatype, &lb, &reach) != 0)
		return 0;
	return (reach > size ? HOLES_ALONE : 0) | (extent > size ? HOLES_AFTER : 0);
}

/* How it was made and how large it is, with what its holes make of that: that tells apart what matters, and no MPI has to
 * name it. */
static uint32_t number(struct call *c, const struct mpi_abi *abi, uintptr_t datatype, int64_t size)
{
	static const char *const combiner_names[] = {
		[COMBINER_OTHER] = "other",
		[COMBINER_NAMED] = "predefined",
		[COMBINER_DUP] = "dup",
		[COMBINER_CONTIGUOUS] = "contiguous",
		[COMBINER_VECTOR] = "vector",
		[COMBINER_HVECTOR] = "hvector",
		[COMBINER_INDEXED] = "indexed",
		[COMBINER_HINDEXED] = "hindexed",
		[COMBINER_INDEXED_BLOCK] = "indexed_block",
		[COMBINER_HINDEXED_BLOCK] = "hindexed_block",
		[COMBINER_STRUCT] = "struct",
		[COMBINER_SUBARRAY] = "subarray",
		[COMBINER_DARRAY] = "darray",
		[COMBINER_RESIZED] = "resized",
	};
	int integers, addresses, datatypes, combiner = -1;
	enum mpi_combiner how = COMBINER_OTHER;
	int64_t lb, extent = size, reach = size;
	char name[96];
	int n;

	if (abi->envelope(datatype, &integers, &addresses, &datatypes, &combiner) == 0 &&
	    combiner >= 0 && combiner < COMBINERS)
		how = (enum mpi_combiner)abi->facts->combiner[combiner];
	n = snprintf(name, sizeof(name), "%s of %lld bytes", combiner_names[how], (long long)size);
	if (abi->type_extent(datatype, &lb, &extent) == 0 &&
	    abi->type_true_extent(datatype, &lb, &reach) == 0 && (extent != size || reach != size))
		snprintf(name + n, sizeof(name) - (size_t)n, ", extent %lld, true extent %lld",
			 (long long)extent, (long long)reach);
	return datatype_define(c, name);
}

/* Only then is the datatype surely one that may be asked about. */
int64_t mpi_learn_bytes(int64_t count, uintptr_t datatype)
{
	const struct mpi_abi *abi = mpi_abi_known();
	uint64_t entry = known(abi, datatype);
	int64_t size = 0;

	if (!entry && abi && abi->type_size(datatype, &size) == 0 && size >= 0) {
		entry = ((uint64_t)size + 1) | holes(abi, datatype, size);
		handle_put(&mpi_datatypes, BY_SIZE, mpi_handle(abi, datatype), entry);
	}
	return times(count, entry);
}

void mpi_tell_memory(struct call *c, int64_t count, uintptr_t datatype)
{
	const struct mpi_abi *abi = mpi_abi_known();
	const uint64_t entry = known(abi, datatype);
	uint32_t name;

	if (!entry || count <= 0 || call_for_job(c))
		return;
	if (entry & (count > 1 ? HOLES_ALONE | HOLES_AFTER : HOLES_ALONE))
		call_scattered(c);
	name = (uint32_t)handle_get(&mpi_datatypes, BY_NUMBER, mpi_handle(abi, datatype));
	if (!name) {
		name = number(c, abi, datatype, times(1, entry));
		handle_put(&mpi_datatypes, BY_NUMBER, mpi_handle(abi, datatype), name);
	}
	call_datatype(c, name);
}

void mpi_type_freed(const uintptr_t *datatype)
{
	const struct mpi_abi *abi = mpi_abi_known();

	if (!abi || !datatype)
		return;
	handle_take(&mpi_datatypes, BY_SIZE, mpi_handle_at(abi, datatype, 0));
	handle_take(&mpi_datatypes, BY_NUMBER, mpi_handle_at(abi, datatype, 0));
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
	else if (asked == 0 && moved > 0) /* ROMIO in Open MPI leaves the status as it was then */
		moved = c->field[2] = 0;
	if (pointer && f)
		advance(f, mpi_given(c), asked, moved);
	c->field[0] = asked;
	if (c->thread && !result && !mpi_absorbed(c))
		mpi_tell_memory(c, count, datatype);
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
