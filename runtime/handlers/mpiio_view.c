/* File views and positions: where in the file a call's bytes lie, without asking the MPI for it. */
#include <string.h>

#include "handlers/library.h"
#include "handlers/mpi_abi.h"
#include "handlers/mpiio.h"

/* The k-th accessible byte of the view, as an absolute byte of the file. */
static int64_t place_of(const struct mpi_file *f, uint64_t k)
{
	const struct mpi_layout *l = &f->layout;
	uint64_t rest = k % l->total;

	if (!l->exact)
		return f->displacement +
		       (int64_t)(k / l->total * l->period + mpi_parts_place(l, rest));
	for (uint32_t b = 0; b < l->blocks; b++) {
		if (rest < l->block[b][1])
			return f->displacement +
			       (int64_t)(k / l->total * l->period + l->block[b][0] + rest);
		rest -= l->block[b][1];
	}
	return UNKNOWN_OFFSET;
}

static int64_t byte_of(const struct mpi_file *f, int64_t offset)
{
	if (!f->mapped || offset < 0 || f->etype == 0)
		return UNKNOWN_OFFSET;
	return place_of(f, (uint64_t)offset * f->etype);
}

int64_t mpi_first_byte(uintptr_t file, int64_t offset)
{
	const struct mpi_file *f = mpi_file(file);

	return f ? byte_of(f, offset) : UNKNOWN_OFFSET;
}

int64_t mpi_pointer_byte(uintptr_t file)
{
	const struct mpi_file *f = mpi_file(file);

	return f ? byte_of(f, atomic_load_explicit(&f->position, memory_order_relaxed))
		 : UNKNOWN_OFFSET;
}

uint32_t mpi_layout_define(struct call *c, const struct mpi_layout *l, int64_t displacement)
{
	const uint64_t box[2] = {l->start, l->span};

	if (l->exact && l->total == 1 && l->period == 1 && l->block[0][0] == 0 && displacement == 0)
		return 0;
	const struct selection_def def = {
		.form = SELECTION_OF_BYTES,
		.exact = l->exact,
		.rank = 1,
		.displacement = displacement,
		.unit = 1,
		.period = l->period,
		.total = l->total,
		.hash = l->hash,
		.box = box,
		.block = &l->block[0][0],
		.blocks = l->blocks,
		.part = l->part,
		.parts = l->parts,
	};
	return selection_define(c, &def);
}

void mpi_view_define(struct call *c, struct mpi_file *f)
{
	f->selection = mpi_layout_define(c, &f->layout, f->displacement);
	f->undefined = false;
}

void mpi_view_set(struct call *c, int result, uintptr_t file, int64_t displacement, uintptr_t etype,
		  uintptr_t filetype, const char *datarep, uintptr_t info)
{
	KEEP_ERRNO;
	const struct mpi_abi *abi = mpi_abi_known();
	struct mpi_file *f = mpi_file(file);
	int64_t bytes = 0;

	if (result || !abi || !f || mpi_absorbed(c))
		return;
	if (abi->type_size(etype, &bytes) != 0 || bytes < 0)
		bytes = 0;
	f->etype = (uint64_t)bytes;
	/* MPI_DISPLACEMENT_CURRENT, for sequential files, is the only negative one */
	f->displacement = displacement;
	f->selection = 0;
	f->undefined = displacement >= 0 && mpi_flatten(abi, filetype, &f->layout);
	f->mapped = f->undefined && f->layout.total > 0 && (f->layout.exact || f->layout.parts > 0);
	atomic_store_explicit(&f->position, 0, memory_order_relaxed);
	if (!c->thread)
		return;
	if (f->undefined)
		mpi_view_define(c, f);
	c->field[2] = f->selection;
	if (datarep && strcmp(datarep, "native") != 0)
		call_text(c, "datarep", datarep);
	mpi_hints(c, abi, f->object, false, info);
}

void mpi_sought(const struct call *c, int result, uintptr_t file, int64_t offset, int whence)
{
	struct mpi_file *f = mpi_file(file);

	if (!f || result || mpi_absorbed(c))
		return;
	const int64_t from = mpi_whence(whence) == 0
				     ? 0
				     : atomic_load_explicit(&f->position, memory_order_relaxed);
	/* from the end: only the MPI knows where that is in the view */
	const bool known = mpi_whence(whence) != 2 && from != UNKNOWN_OFFSET;

	atomic_store_explicit(&f->position, known ? from + offset : UNKNOWN_OFFSET,
			      memory_order_relaxed);
}

void mpi_learn_position(struct call *c, uintptr_t file, const int64_t *offset)
{
	struct mpi_file *f = mpi_file(file);

	if (f && offset && !c->error)
		atomic_store_explicit(&f->position, *offset, memory_order_relaxed);
}

int64_t mpi_offset_at(const int64_t *offset)
{
	return offset ? *offset : UNKNOWN_OFFSET;
}

int64_t mpi_int_at(const int *number)
{
	return number ? *number : -1;
}

int64_t mpi_whence(int whence)
{
	return (whence - 600) / 2; /* 600, 602, 604 in MPICH and Open MPI */
}
