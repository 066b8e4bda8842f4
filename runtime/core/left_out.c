/* Which objects the selection's `files` leave out: by their own names, or by the file that they lie in. */
#include <fcntl.h>
#include <string.h>

#include "core/base.h"
#include "core/call.h"
#include "core/forget.h"
#include "core/objects.h"
#include "core/state.h"
#include "core/levels.h"

static bool is_file(enum object_class class)
{
	return class == OBJECT_DESCRIPTOR || class == OBJECT_PATH || class == OBJECT_MPI_FILE ||
	       class == OBJECT_HDF5_FILE || class == OBJECT_PNETCDF_FILE ||
	       class == OBJECT_NETCDF_FILE || class == OBJECT_DIRECTORY;
}

/* Names of files, for a selection that comes later: how far they fit. */
enum { NAMED_OBJECTS = 65536, NAME_BYTES = 4 << 20, FILE_DEPTH = 8 };

struct name_table {
	struct {
		uint32_t text, parent; /* of a file; of what lies in one. 0: neither */
		_Atomic uint32_t
			left_out; /* tables, and above them the number of the levels asked */
	} entry[NAMED_OBJECTS];
	_Atomic uint32_t used;
	char text[NAME_BYTES];
};

static struct name_table *name_table(void)
{
	uint64_t mask;

	if (likely(process->name_table) || control_is_private())
		return process->name_table;
	mask = process_lock();
	if (!process->name_table) {
		process->name_table = memory_get(sizeof(struct name_table), true);
		if (process->name_table)
			atomic_store(&process->name_table->used, 1);
	}
	process_unlock(mask);
	return process->name_table;
}

void left_out_add(uint32_t object, enum object_class class, const struct object_def *def)
{
	struct name_table *table = name_table();
	size_t bytes = is_file(class) && def->name ? strlen(def->name) + 1 : 0;
	uint32_t at;

	if (!table || object >= NAMED_OBJECTS)
		return;
	table->entry[object].parent = def->parent & ~OBJECT_LEFT_OUT;
	if (!bytes || atomic_load(&table->used) > NAME_BYTES - bytes)
		return;
	at = atomic_fetch_add(&table->used, (uint32_t)bytes);
	if (at > NAME_BYTES - bytes)
		return;
	memcpy(table->text + at, def->name, bytes);
	table->entry[object].text = at;
}

/* Of an object that was defined under an earlier selection. One whose name is not kept is on no file. */
static uint32_t ask_name(const struct levels *l, uint32_t object)
{
	struct name_table *table = process->name_table;
	uint32_t number = l->number << TABLES, known, file = object;

	if (!table || object >= NAMED_OBJECTS)
		return 0;
	known = atomic_load(&table->entry[object].left_out);
	if (known >> TABLES << TABLES == number)
		return known & ((1u << TABLES) - 1);
	for (int i = 0; i < FILE_DEPTH && file < NAMED_OBJECTS && !table->entry[file].text; i++)
		file = table->entry[file].parent;
	if (file < NAMED_OBJECTS && table->entry[file].text)
		number |= levels_leave_out(l, table->text + table->entry[file].text);
	atomic_store(&table->entry[object].left_out, number);
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
	memory_wipe(process->name_table, sizeof(struct name_table));
	if (process->name_table)
		atomic_store(&process->name_table->used, 1);
}
