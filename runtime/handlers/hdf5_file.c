/* HDF5 files and datasets: objects, groups of ranks, turns of collective calls, reads and writes. All that is
 * asked of HDF5 is asked after a call that succeeded: its error stack is empty then, and every public
 * function would clear it. */
#include <fcntl.h>
#include <string.h>

#include "handlers/hdf5.h"
#include "handlers/library.h"
#include "handlers/mpiio.h"

enum {
	FILES = 4096, /* files remembered; a dataset outlives its file's handle */
	NAME = 4096,
};

/* One open of a file. */
struct file {
	_Atomic uint32_t number; /* of the open, from 1: file number n lies at n % FILES */
	uint32_t object;
	bool parallel;
	_Atomic uint32_t turns; /* collective calls on it so far */
};

static struct {
	struct file file[FILES];
	_Atomic uint32_t opens;
	_Atomic bool full; /* said once */
} files;

enum { KEEP_ID, KEEP_VALUE };

/* ---- the table: (library, id) -> object | number of the file's open << 32 ---- */

static uint64_t value_of(uint32_t wrapper, int64_t id)
{
	const struct hdf5_library *lib = hdf5_library(wrapper);

	return lib ? handle_get(&hdf5_objects, lib->owner, (uint64_t)hdf5_id(lib, id)) : 0;
}

uint32_t hdf5_object(uint32_t wrapper, int64_t id)
{
	return (uint32_t)value_of(wrapper, id);
}

bool hdf5_failed(uint32_t wrapper, int64_t id)
{
	return hdf5_id(hdf5_library(wrapper), id) < 0;
}

static void remember(uint32_t wrapper, int64_t id, uint64_t value)
{
	const struct hdf5_library *lib = hdf5_library(wrapper);

	if (lib && !handle_put(&hdf5_objects, lib->owner, (uint64_t)hdf5_id(lib, id), value) &&
	    !atomic_exchange(&files.full, true))
		note("too many HDF5 files and datasets open at once: further ones have no names");
}

static struct file *file_of(uint64_t value)
{
	const uint32_t number = (uint32_t)(value >> 32);
	struct file *f = &files.file[number % FILES];

	return number && atomic_load(&f->number) == number ? f : NULL;
}

/* ---- files ---- */

static uint64_t define_file(struct call *c, const char *name)
{
	const struct group_def *group = mpi_group_inside(c);
	const uint32_t number = atomic_fetch_add(&files.opens, 1) + 1;
	struct file *f = &files.file[number % FILES];
	const struct object_def def = {.name = name};

	c->object = object_define(c, OBJECT_HDF5_FILE, &def);
	f->object = c->object;
	f->parallel = group != NULL;
	atomic_store(&f->turns, 0);
	atomic_store(&f->number, number);
	if (group) {
		struct group_def ours = *group;

		/* counted apart from the opens that MPI-IO sees: HDF5 may open a file twice */
		ours.ordinal = mpi_next_ordinal(group->hash ^ 0x48444635);
		object_group(c, c->object, &ours);
	}
	return c->object | (uint64_t)number << 32;
}

void hdf5_file_opened(struct call *c, int64_t result, const char *name)
{
	KEEP_ERRNO;
	char path[NAME];
	uint64_t value;

	if (hdf5_failed(c->wrapper, result) || !name) {
		opened_nothing(c, name);
		return;
	}
	path_absolute(path, sizeof(path), AT_FDCWD, name);
	if (path_selected(path)) {
		value = define_file(c, path);
	} else {
		value = OBJECT_LEFT_OUT;
		c->cancel = true;
	}
	remember(c->wrapper, result, value);
	/* the open is the first collective call on its handle */
	struct file *f = file_of(value);
	c->field[2] = f && f->parallel;
}

void hdf5_file_reopened(struct call *c, int64_t result, int64_t file)
{
	const uint64_t value = value_of(c->wrapper, file);

	if (!hdf5_failed(c->wrapper, result) && value)
		remember(c->wrapper, result, value);
}

/* ---- datasets ---- */

/* The open of the file that an object lies in: HDF5 tells the file's handle, which we know unless the
 * program has closed it. */
static uint64_t file_value(uint32_t wrapper, const struct hdf5_library *lib, int64_t id)
{
	const int64_t file = lib->file_of(id);
	const uint64_t value = file < 0 ? 0 : value_of(wrapper, file);

	if (file >= 0)
		lib->file_close(file);
	return value;
}

/* Extents and element size of a dataset. */
static void measure(const struct hdf5_library *lib, int64_t dataset, struct object_def *def)
{
	const int64_t type = hdf5_id(lib, lib->dataset_type(dataset));
	const int64_t space = hdf5_id(lib, lib->dataset_space(dataset));
	uint64_t extent[HDF5_RANK];
	int rank = 0;

	if (type >= 0) {
		def->number[0] = lib->type_size(type);
		lib->type_close(type);
	}
	if (space >= 0) {
		rank = lib->dimensions(space, extent, NULL);
		lib->space_close(space);
	}
	/* what does not fit into a definition is left out: rank first says how many there are */
	for (int d = 0; d < rank && d < 14; d++)
		def->number[2 + d] = extent[d];
	def->number[1] = rank < 0 ? 0 : (uint64_t)(rank < 14 ? rank : 14);
	def->numbers = 2 + (uint32_t)def->number[1];
}

/* `named`: HDF5 knows the path that it was opened by. Else asking for it might make it search the file. */
static void define_dataset(struct call *c, const struct hdf5_library *lib, int64_t dataset,
			   bool named)
{
	const uint64_t file = file_value(c->wrapper, lib, dataset);
	struct object_def def = {.parent = (uint32_t)file};
	char name[NAME] = "";

	if ((uint32_t)file & OBJECT_LEFT_OUT) {
		remember(c->wrapper, dataset, file);
		c->cancel = true;
		return;
	}
	if (named)
		lib->name_of(dataset, name, sizeof(name));
	def.name = name;
	measure(lib, dataset, &def);
	c->object = object_define(c, OBJECT_HDF5_DATASET, &def);
	remember(c->wrapper, dataset, c->object | (file >> 32) << 32);
}

void hdf5_dataset_opened(struct call *c, int64_t result, int64_t where, const char *name)
{
	KEEP_ERRNO;
	const struct hdf5_library *lib = hdf5_library(c->wrapper);

	if (!hdf5_failed(c->wrapper, result) && lib)
		define_dataset(c, lib, hdf5_id(lib, result), name != NULL);
	else
		c->object = hdf5_object(c->wrapper, where);
}

/* H5Oopen: may be a dataset. */
void hdf5_object_opened(struct call *c, int64_t result, int64_t where, const char *name)
{
	KEEP_ERRNO;
	const struct hdf5_library *lib = hdf5_library(c->wrapper);

	if (hdf5_failed(c->wrapper, result) || !lib ||
	    lib->type_of(hdf5_id(lib, result)) != HDF5_DATASET)
		c->object = hdf5_object(c->wrapper, where);
	else
		define_dataset(c, lib, hdf5_id(lib, result), name != NULL);
}

/* ---- closing ---- */

/* Before the call: right after it the number may be another's. */
void hdf5_closing(struct call *c, int64_t id)
{
	const struct hdf5_library *lib = hdf5_library(c->wrapper);

	c->scratch[KEEP_ID] = (uint64_t)hdf5_id(lib, id);
	c->scratch[KEEP_VALUE] =
		lib ? handle_take(&hdf5_objects, lib->owner, c->scratch[KEEP_ID]) : 0;
}

/* The handle lives on when the call failed, or when it was held more than once (H5Iinc_ref). */
void hdf5_closed(struct call *c, int result)
{
	KEEP_ERRNO;
	const struct hdf5_library *lib = hdf5_library(c->wrapper);
	const int64_t id = (int64_t)c->scratch[KEEP_ID];

	if (c->scratch[KEEP_VALUE] && (result < 0 || lib->type_of(id) > 0))
		remember(c->wrapper, id, c->scratch[KEEP_VALUE]);
}

/* H5Idec_ref, which h5py closes files and datasets by: a row when it lets go of the last hold. */
void hdf5_released(struct call *c, int holds)
{
	if (holds != 0 && c->scratch[KEEP_VALUE])
		remember(c->wrapper, (int64_t)c->scratch[KEEP_ID], c->scratch[KEEP_VALUE]);
	c->cancel = holds > 0;
}

/* ---- turns ---- */

static int64_t take_turn(uint64_t value)
{
	struct file *f = file_of(value);

	return f && f->parallel ? (int64_t)atomic_fetch_add(&f->turns, 1) + 2 : 0;
}

/* Of a call that is collective whenever the file was opened by several ranks. */
void hdf5_turn(struct call *c, int64_t id, unsigned field)
{
	c->field[field] = take_turn(value_of(c->wrapper, id));
}

void hdf5_closed_turn(struct call *c, int result)
{
	c->field[1] = take_turn(c->scratch[KEEP_VALUE]);
	hdf5_closed(c, result);
}

void hdf5_dataset_created(struct call *c, int64_t result, int64_t where, const char *name)
{
	hdf5_dataset_opened(c, result, where, name);
	hdf5_turn(c, hdf5_failed(c->wrapper, result) ? where : result, 1);
}

/* ---- data ---- */

/* Elements that a transfer moves when the file's dataspace does not say: what memory selects, else the
 * whole extent. */
static int64_t elements(const struct hdf5_library *lib, int64_t dataset, int64_t memory_space)
{
	int64_t space, n;

	if (memory_space > HDF5_LAST_WORD)
		return lib->selected(memory_space);
	space = hdf5_id(lib, lib->dataset_space(dataset));
	if (space < 0)
		return -1;
	n = lib->extent(space);
	lib->space_close(space);
	return n;
}

/* Did the transfer ask for collective I/O? -1: this HDF5 or this file knows no such thing. */
static int64_t collective_mode(const struct hdf5_library *lib, const struct file *f,
			       int64_t transfer)
{
	int mode = 0;

	if (!f || !f->parallel || !lib->transfer_mode)
		return -1;
	if (transfer > 0 && lib->transfer_mode(transfer, &mode) < 0)
		return -1;
	return mode == 1;
}

/* Fields: size, bytes, selection, start, collective_io, collective. */
void hdf5_data(struct call *c, int result, int64_t dataset, int64_t memory_type,
	       int64_t memory_space, int64_t file_space, int64_t transfer)
{
	KEEP_ERRNO;
	const struct hdf5_library *lib = hdf5_library(c->wrapper);
	struct hdf5_selection selection = {0, 0, -1};
	uint64_t value;
	int64_t bytes;

	c->field[0] = c->field[1] = c->field[4] = -1;
	if (result < 0 || !lib)
		return;
	dataset = hdf5_id(lib, dataset);
	file_space = hdf5_id(lib, file_space);
	value = value_of(c->wrapper, dataset);
	if (!value) { /* opened in a way that is no row */
		define_dataset(c, lib, dataset, false);
		value = value_of(c->wrapper, dataset);
	}
	if (file_space > HDF5_LAST_WORD)
		selection = hdf5_selected(c, lib, file_space);
	else
		selection.total = elements(lib, dataset, hdf5_id(lib, memory_space));
	if (selection.total >= 0 &&
	    !__builtin_mul_overflow(selection.total,
				    (int64_t)lib->type_size(hdf5_id(lib, memory_type)), &bytes))
		c->field[0] = c->field[1] = bytes;
	c->field[2] = selection.number;
	c->field[3] = selection.start;
	c->field[4] = collective_mode(lib, file_of(value), hdf5_id(lib, transfer));
	c->field[5] = c->field[4] == 1 ? take_turn(value) : 0;
}

/* Row-major index of a chunk's first element; -1: not known. */
int64_t hdf5_chunk_start(const struct call *c, int64_t dataset, const uint64_t *offset)
{
	KEEP_ERRNO;
	const struct hdf5_library *lib = hdf5_library(c->wrapper);
	uint64_t extent[HDF5_RANK], index = 0;
	int64_t space;
	int rank;

	if (c->error || !lib || !offset)
		return -1;
	space = hdf5_id(lib, lib->dataset_space(hdf5_id(lib, dataset)));
	if (space < 0)
		return -1;
	rank = lib->dimensions(space, extent, NULL);
	lib->space_close(space);
	for (int d = 0; d < rank; d++)
		index = index * extent[d] + offset[d];
	return (int64_t)index;
}

/* Stored bytes of a chunk that was just read; its place in the index is cached by that. */
int64_t hdf5_chunk_bytes(const struct call *c, int64_t dataset, const uint64_t *offset)
{
	KEEP_ERRNO;
	const struct hdf5_library *lib = hdf5_library(c->wrapper);
	uint64_t bytes = 0;

	if (c->error || !lib || !lib->chunk_bytes || !offset ||
	    lib->chunk_bytes(hdf5_id(lib, dataset), offset, &bytes) < 0)
		return -1;
	return (int64_t)bytes;
}
