/* What lies in HDF5 files: groups, datasets, named datatypes, attributes, each by its path in the file. */
#include <string.h>

#include "handlers/hdf5.h"
#include "handlers/library.h"

enum { NAME = 4096, EXTENTS = 14 /* more do not fit into a definition */ };

/* The open of the file that an object lies in: HDF5 tells the file's handle, which we know unless the
 * program has closed it. */
static uint64_t file_value(uint32_t wrapper, const struct hdf5_library *lib, int64_t id)
{
	const int64_t file = lib->file_of(id);
	const uint64_t value = file < 0 ? 0 : hdf5_value(wrapper, file);

	if (file >= 0)
		lib->file_close(file);
	return value;
}

/* Element size and extents, which begin the numbers of datasets and attributes. */
static void measure(const struct hdf5_library *lib, int64_t type, int64_t space,
		    struct object_def *def)
{
	uint64_t extent[HDF5_RANK];
	int rank = 0;

	if (type >= 0)
		def->number[0] = lib->type_size(type);
	if (space >= 0)
		rank = lib->dimensions(space, extent, NULL);
	if (space >= 0)
		lib->space_close(space);
	rank = rank < 0 ? 0 : rank > EXTENTS ? EXTENTS : rank;
	for (int d = 0; d < rank; d++)
		def->number[2 + d] = extent[d];
	def->number[1] = (uint64_t)rank;
	def->numbers = 2 + (uint32_t)rank;
}

/* Defines an object and keeps it by its handle. `type` is closed. */
static void keep(struct call *c, const struct hdf5_library *lib, enum object_class class,
		 int64_t id, struct object_def *def, int64_t type)
{
	const uint64_t file = file_value(c->wrapper, lib, id);

	def->parent = (uint32_t)file;
	c->object = object_define(c, class, def);
	hdf5_remember(c->wrapper, id,
		      c->object | (file >> 32) << 32 | (def->name[0] ? 0 : HDF5_NAMELESS));
	if (type >= 0 && !call_for_job(c))
		hdf5_type_hint(c, lib, type);
	if (type >= 0 && class != OBJECT_HDF5_DATATYPE)
		lib->type_close(type);
}

/* While everything is counted for the job nobody asks what an object is: only its file is kept, for its turns. */
static bool put_off(struct call *c, const struct hdf5_library *lib, int64_t id, bool named)
{
	const uint64_t file = calls_for_job(c) ? file_value(c->wrapper, lib, id) : 0;

	if (file)
		hdf5_remember(c->wrapper, id, (file >> 32) << 32 | (named ? 0 : HDF5_NAMELESS));
	return file;
}

static void define_dataset(struct call *c, const struct hdf5_library *lib, int64_t id, int64_t list,
			   struct object_def *def)
{
	const int64_t type = hdf5_id(lib, lib->dataset_type(id));
	const bool of_numbers = type >= 0 && hdf5_of_numbers(lib, type);

	measure(lib, type, hdf5_id(lib, lib->dataset_space(id)), def);
	keep(c, lib, OBJECT_HDF5_DATASET, id, def, type);
	hdf5_dataset_hints(c, lib, id, of_numbers ? list : -1);
}

/* `named`: HDF5 knows the path that the object was opened by. Else asking for it would make it search the
 * file. `list`: as hdf5_dataset_hints takes it. */
static bool define(struct call *c, const struct hdf5_library *lib, int64_t id, bool named,
		   int64_t list)
{
	const int kind = lib->type_of(id);
	char name[NAME];
	struct object_def def = {.name = name};

	name[0] = '\0';
	if (kind != HDF5_GROUP && kind != HDF5_DATATYPE && kind != HDF5_DATASET)
		return false;
	if (named)
		lib->name_of(id, name, sizeof(name));
	if (kind == HDF5_DATASET)
		define_dataset(c, lib, id, list, &def);
	else if (kind == HDF5_GROUP)
		keep(c, lib, OBJECT_HDF5_GROUP, id, &def, -1);
	else
		keep(c, lib, OBJECT_HDF5_DATATYPE, id, &def, id);
	return true;
}

void hdf5_dataset_met(struct call *c, const struct hdf5_library *lib, int64_t id)
{
	const uint64_t value = hdf5_value(c->wrapper, id);

	if ((uint32_t)value == 0 && !(value && calls_for_job(c)) && !put_off(c, lib, id, false))
		define(c, lib, id, value && !(value & HDF5_NAMELESS), -1);
}

/* Does the path of something that is opened from `where`, by name, need no search? */
static bool has_path(const struct call *c, int64_t where, const char *name)
{
	return name && !(hdf5_value(c->wrapper, where) & HDF5_NAMELESS);
}

void hdf5_object_opened(struct call *c, int64_t result, int64_t where, const char *name)
{
	hdf5_dataset_created(c, result, where, name, -1);
}

void hdf5_dataset_created(struct call *c, int64_t result, int64_t where, const char *name,
			  int64_t list)
{
	KEEP_ERRNO;
	const struct hdf5_library *lib = hdf5_library(c->wrapper);
	const int64_t id = hdf5_id(lib, result);
	const bool named = has_path(c, where, name);

	if (hdf5_failed(c->wrapper, result) || !lib ||
	    !(put_off(c, lib, id, named) || define(c, lib, id, named, hdf5_id(lib, list))))
		c->object = hdf5_object(c->wrapper, where);
}

/* A datatype in memory becomes one in the file. */
void hdf5_type_committed(struct call *c, int64_t result, int64_t where, const char *name,
			 int64_t type)
{
	hdf5_object_opened(c, result < 0 ? result : type, where, name);
}

/* ---- attributes: the path of what they belong to, and their name ---- */

static void attribute_name(const struct hdf5_library *lib, int64_t id, bool named, char *name)
{
	int64_t length = named ? lib->name_of(id, name, NAME) : 0;

	if (length < 0 || length > NAME - 2)
		length = 0;
	if (length > 0 && name[length - 1] != '/')
		name[length++] = '/';
	name[length] = '\0';
	if (lib->attribute_name)
		lib->attribute_name(id, (size_t)(NAME - length), name + length);
}

void hdf5_attribute_opened(struct call *c, int64_t result, int64_t where)
{
	KEEP_ERRNO;
	const struct hdf5_library *lib = hdf5_library(c->wrapper);
	const int64_t id = hdf5_id(lib, result);
	const bool named = has_path(c, where, "");
	char name[NAME];
	struct object_def def = {.name = name};
	int64_t type, space;

	if (hdf5_failed(c->wrapper, result) || !lib || !lib->attribute_type ||
	    !lib->attribute_space) {
		c->object = hdf5_object(c->wrapper, where);
		return;
	}
	if (put_off(c, lib, id, named))
		return;
	attribute_name(lib, id, named, name);
	type = hdf5_id(lib, lib->attribute_type(id));
	space = hdf5_id(lib, lib->attribute_space(id));
	measure(lib, type, space, &def);
	keep(c, lib, OBJECT_HDF5_ATTRIBUTE, id, &def, type);
}

/* ---- calls that name what they change ---- */

void hdf5_named(struct call *c, const char *name)
{
	if (name)
		call_text(c, "name", name);
}

void hdf5_renamed(struct call *c, const char *from, const char *to)
{
	if (from)
		call_text(c, "from", from);
	if (to)
		call_text(c, "to", to);
}
