/* HDF5's handles, its files, groups of ranks and turns of collective calls. All that is asked of HDF5 is asked
 * after a call that succeeded: its error stack is empty then, and every public function would clear it. */
#include <fcntl.h>
#include <string.h>

#include "handlers/forget.h"
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

uint64_t hdf5_value(uint32_t wrapper, int64_t id)
{
	const struct hdf5_library *lib = hdf5_library(wrapper);

	return lib ? handle_get(&hdf5_objects, lib->owner, (uint64_t)hdf5_id(lib, id)) : 0;
}

bool hdf5_failed(uint32_t wrapper, int64_t id)
{
	return hdf5_id(hdf5_library(wrapper), id) < 0;
}

void hdf5_remember(uint32_t wrapper, int64_t id, uint64_t value)
{
	const struct hdf5_library *lib = hdf5_library(wrapper);

	if (lib && !handle_put(&hdf5_objects, lib->owner, (uint64_t)hdf5_id(lib, id), value) &&
	    !atomic_exchange(&files.full, true))
		note("too many HDF5 objects open at once: further ones have no names");
}

static struct file *file_of(uint64_t value)
{
	const uint32_t number = (uint32_t)((value & ~HDF5_NAMELESS) >> 32);
	struct file *f = &files.file[number % FILES];

	return number && atomic_load(&f->number) == number ? f : NULL;
}

/* The file, of what was opened while all was counted for the job. */
uint32_t hdf5_object(uint32_t wrapper, int64_t id)
{
	const uint64_t value = hdf5_value(wrapper, id);
	const struct file *f = (uint32_t)value ? NULL : file_of(value);

	return f ? f->object : (uint32_t)value;
}

uint32_t hdf5_file_object(uint32_t wrapper, int64_t id)
{
	const struct file *f = file_of(hdf5_value(wrapper, id));

	return f ? f->object : 0;
}

/* ---- files ---- */

static uint64_t define_file(struct call *c, const char *name)
{
	const struct group_def *group = mpi_group_inside(c);
	const uint32_t number = (atomic_fetch_add(&files.opens, 1) + 1) & INT32_MAX;
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

void hdf5_file_opened(struct call *c, int64_t result, const char *name, int64_t access)
{
	KEEP_ERRNO;
	char path[NAME];
	uint64_t value;

	if (hdf5_failed(c->wrapper, result) || !name) {
		opened_nothing(c, name);
		return;
	}
	path_absolute(path, sizeof(path), AT_FDCWD, name);
	value = define_file(c, path);
	hdf5_remember(c->wrapper, result, value);
	/* the open is the first collective call on its handle */
	struct file *f = file_of(value);
	c->field[2] = f && f->parallel;
	if (f)
		hdf5_file_hints(c, hdf5_library(c->wrapper), result, access, f->parallel);
}

void hdf5_driver_opened(struct call *c, const void *file, const char *name)
{
	KEEP_ERRNO;
	char path[NAME];

	if (!file || !name) {
		opened_nothing(c, name);
		return;
	}
	path_absolute(path, sizeof(path), AT_FDCWD, name);
	hdf5_remember(c->wrapper, (intptr_t)file, define_file(c, path));
}

void hdf5_file_reopened(struct call *c, int64_t result, int64_t file)
{
	const uint64_t value = hdf5_value(c->wrapper, file);

	if (!hdf5_failed(c->wrapper, result) && value)
		hdf5_remember(c->wrapper, result, value);
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

/* The handle lives on when the call failed, or when it was held more than once (H5Iinc_ref). One whose close
 * goes on in the background is gone. */
void hdf5_closed(struct call *c, int64_t result)
{
	KEEP_ERRNO;
	const struct hdf5_library *lib = hdf5_library(c->wrapper);
	const int64_t id = (int64_t)c->scratch[KEEP_ID];

	if (c->scratch[KEEP_VALUE] && result != HDF5_PENDING &&
	    (result < 0 || lib->type_of(id) > 0))
		hdf5_remember(c->wrapper, id, c->scratch[KEEP_VALUE]);
}

/* H5Idec_ref, which h5py closes files and datasets by: a row when it lets go of the last hold. */
void hdf5_released(struct call *c, int holds)
{
	if (holds != 0 && c->scratch[KEEP_VALUE])
		hdf5_remember(c->wrapper, (int64_t)c->scratch[KEEP_ID], c->scratch[KEEP_VALUE]);
	c->cancel = holds > 0;
}

/* ---- turns ---- */

bool hdf5_parallel(uint64_t value)
{
	const struct file *f = file_of(value);

	return f && f->parallel;
}

int64_t hdf5_take_turn(uint64_t value)
{
	struct file *f = file_of(value);

	return f && f->parallel ? (int64_t)atomic_fetch_add(&f->turns, 1) + 2 : 0;
}

/* Of a call that is collective whenever the file was opened by several ranks. */
int64_t hdf5_turn(uint32_t wrapper, int64_t id)
{
	return hdf5_take_turn(hdf5_value(wrapper, id));
}

void hdf5_closed_turn(struct call *c, int64_t result)
{
	c->field[1] = hdf5_take_turn(c->scratch[KEEP_VALUE]);
	hdf5_closed(c, result);
}

void hdf5_files_forget(void)
{
	memory_wipe(&files, sizeof(files));
}
