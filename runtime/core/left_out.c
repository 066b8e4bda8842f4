/* Which objects the selection's `files` leave out: by their own names, or by the file that they lie in. */
#include <fcntl.h>
#include <string.h>

#include "core/levels.h"

static bool is_file(enum object_class class)
{
	return class == OBJECT_DESCRIPTOR || class == OBJECT_PATH || class == OBJECT_MPI_FILE ||
	       class == OBJECT_HDF5_FILE || class == OBJECT_PNETCDF_FILE ||
	       class == OBJECT_NETCDF_FILE || class == OBJECT_DIRECTORY;
}

/* Names of files, for a selection that comes later: how far they fit. */
enum { KEPT = 65536, KEPT_TEXT = 4 << 20, FILE_DEPTH = 8 };

struct kept_names {
	struct {
		uint32_t text, parent; /* of a file; of what lies in one. 0: neither */
		_Atomic uint32_t
			left_out; /* tables, and above them the number of the levels asked */
	} entry[KEPT];
	_Atomic uint32_t used;
	char text[KEPT_TEXT];
};

static struct kept_names *kept_names(void)
{
	uint64_t mask;

	if (likely(process->kept_names) || control_is_private())
		return process->kept_names;
	mask = process_lock();
	if (!process->kept_names) {
		process->kept_names = memory_get(sizeof(struct kept_names), true);
		if (process->kept_names)
			atomic_store(&process->kept_names->used, 1);
	}
	process_unlock(mask);
	return process->kept_names;
}

void left_out_keep(uint32_t object, enum object_class class, const struct object_def *def)
{
	struct kept_names *kept = kept_names();
	size_t bytes = is_file(class) && def->name ? strlen(def->name) + 1 : 0;
	uint32_t at;

	if (!kept || object >= KEPT)
		return;
	kept->entry[object].parent = def->parent & ~OBJECT_LEFT_OUT;
	if (!bytes || atomic_load(&kept->used) > KEPT_TEXT - bytes)
		return;
	at = atomic_fetch_add(&kept->used, (uint32_t)bytes);
	if (at > KEPT_TEXT - bytes)
		return;
	memcpy(kept->text + at, def->name, bytes);
	kept->entry[object].text = at;
}

/* Of an object that was defined under an earlier selection. One whose name is not kept is on no file. */
static uint32_t ask_name(const struct levels *l, uint32_t object)
{
	struct kept_names *kept = process->kept_names;
	uint32_t number = l->number << TABLES, known, file = object;

	if (!kept || object >= KEPT)
		return 0;
	known = atomic_load(&kept->entry[object].left_out);
	if (known >> TABLES << TABLES == number)
		return known & ((1u << TABLES) - 1);
	for (int i = 0; i < FILE_DEPTH && file < KEPT && !kept->entry[file].text; i++)
		file = kept->entry[file].parent;
	if (file < KEPT && kept->entry[file].text)
		number |= levels_leave_out(l, kept->text + kept->entry[file].text);
	atomic_store(&kept->entry[object].left_out, number);
	return number & ((1u << TABLES) - 1);
}

uint32_t objects_left_out(const struct levels *l, uint32_t object)
{
	const uint32_t number = object & ~OBJECT_LEFT_OUT;

	if (!number || number > l->objects_before)
		return object >> OBJECT_LEFT_OUT_SHIFT;
	return ask_name(l, number);
}

/* The bits above a new object's number: by its own name, or by the file that it lies in. */
uint32_t left_out_bits(enum object_class class, const struct object_def *def)
{
	const struct levels *l = levels_now();

	if (is_file(class))
		return def->name ? levels_leave_out(l, def->name) << OBJECT_LEFT_OUT_SHIFT : 0;
	return def->parent ? objects_left_out(l, def->parent) << OBJECT_LEFT_OUT_SHIFT : 0;
}

uint32_t path_left_out(const char *path)
{
	const struct levels *l = levels_now();
	char absolute[PATH_BYTES];

	if ((uintptr_t)path < PAGE || !l->files)
		return 0;
	path_absolute(absolute, sizeof(absolute), AT_FDCWD, path);
	return levels_leave_out(l, absolute) << OBJECT_LEFT_OUT_SHIFT;
}

void names_forget(void)
{
	memory_wipe(process->kept_names, sizeof(struct kept_names));
	if (process->kept_names)
		atomic_store(&process->kept_names->used, 1);
}
