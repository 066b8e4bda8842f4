/* Files, groups and variables of netCDF-C and PnetCDF: what an id stands for. Names and shapes are asked once, after a
 * call that succeeded, by queries that look into the library's memory only. */
#include <fcntl.h>
#include <string.h>

#include "handlers/forget.h"
#include "handlers/library.h"
#include "handlers/netcdf_model.h"

enum {
	FILES = 1024,     /* NC_MAX_NFILES of PnetCDF */
	VARIABLES = 8192, /* of open files; further ones have no names */
	UNLIMITED = 64,   /* unlimited dimensions of one group */
	DEPTH = 32,       /* groups in groups */
	NAME = 4096,
	VARIABLE_NAME = 257, /* NC_MAX_NAME + 1 */
};

static struct {
	struct nc_file file[FILES];
	struct nc_variable variable[VARIABLES];
	_Atomic uint32_t next; /* where the search for a free variable begins */
	_Atomic bool full;     /* said once */
} known;

enum { KEEP_ID, KEEP_VALUE };

/* ---- the table: (library, id, variable) -> object | (place + 1) << 32 ---- */

static uint64_t key_of(int id, int variable)
{
	return (uint64_t)(uint32_t)id << 32 | (uint32_t)(variable - NC_FILE);
}

static uint64_t value_of(const struct nc_library *lib, int id, int variable)
{
	return handle_get(&netcdf_objects, lib->owner, key_of(id, variable));
}

static void full(const char *what)
{
	if (!atomic_exchange(&known.full, true))
		note("too many netCDF %s open at once: further ones have no names", what);
}

static void remember(const struct nc_library *lib, int id, int variable, uint64_t value)
{
	if (!handle_put(&netcdf_objects, lib->owner, key_of(id, variable), value))
		full("variables");
}

/* The id of the file that a group lies in: netCDF-C has the file's number in the upper half. */
static int file_id(const struct nc_library *lib, int id)
{
	return lib->api == NETCDF && id > 0xffff ? id & NC_GROUPS_OF : id;
}

static struct nc_file *file_of(uint64_t value)
{
	return value >> 32 ? &known.file[(value >> 32) - 1] : NULL;
}

struct nc_file *nc_file(const struct nc_library *lib, int id)
{
	return file_of(value_of(lib, file_id(lib, id), NC_FILE));
}

static struct nc_variable *variable_of(uint64_t value)
{
	return value >> 32 ? &known.variable[(value >> 32) - 1] : NULL;
}

uint32_t nc_object(uint32_t wrapper, enum nc_api api, int id, int variable)
{
	const struct nc_library *lib = nc_library(wrapper, api);
	uint64_t value = 0;

	if (!lib)
		return 0;
	if (variable >= 0)
		value = value_of(lib, id, variable);
	if (!value && id != file_id(lib, id))
		value = value_of(lib, id, NC_FILE);
	if (!value)
		value = value_of(lib, file_id(lib, id), NC_FILE);
	return (uint32_t)value;
}

/* ---- files ---- */

/* The number of a free file + 1, emptied; 0: none. */
static uint32_t take_file(void)
{
	for (uint32_t i = 0; i < FILES; i++) {
		struct nc_file *f = &known.file[i];
		uint32_t unused = 0;

		if (!atomic_compare_exchange_strong(&f->used, &unused, 1))
			continue;
		f->object = f->first = 0;
		f->parallel = f->over_pnetcdf = f->collective = f->hints_recorded = false;
		return i + 1;
	}
	full("files");
	return 0;
}

struct nc_file *nc_opened(struct call *c, const struct nc_library *lib, int id, const char *path,
			  int mode, const struct group_def *group)
{
	char absolute[NAME];
	const struct object_def def = {
		.name = absolute,
		.number = {(uint32_t)mode, group ? group->size : 0},
		.numbers = 2,
	};

	if (strstr(path, "://")) { /* not a file of this machine */
		strncpy(absolute, path, sizeof(absolute) - 1);
		absolute[sizeof(absolute) - 1] = '\0';
	} else {
		path_absolute(absolute, sizeof(absolute), AT_FDCWD, path);
	}
	c->object = object_define(c, lib->api == PNETCDF ? OBJECT_PNETCDF_FILE : OBJECT_NETCDF_FILE,
				  &def);
	const uint32_t place = take_file();
	remember(lib, id, NC_FILE, c->object | (uint64_t)place << 32);
	if (!place)
		return NULL;
	struct nc_file *f = &known.file[place - 1];
	f->object = c->object;
	f->parallel = group != NULL;
	if (group)
		object_group(c, c->object, group);
	return f;
}

/* A file that was opened unrecorded; its name is known to the library. */
static struct nc_file *late_file(struct call *c, const struct nc_library *lib, int id)
{
	char path[NAME] = "";
	size_t length = 0;
	int short_length = 0;

	if (lib->path && (lib->path(id, &length, NULL) != 0 || length >= NAME ||
			  lib->path(id, &length, path) != 0))
		return NULL;
	if (lib->path_int && (lib->path_int(id, &short_length, NULL) != 0 || short_length >= NAME ||
			      lib->path_int(id, &short_length, path) != 0))
		return NULL;
	if (!path[0])
		return NULL;
	return nc_opened(c, lib, id, path, 0, NULL);
}

void nc_closing(struct call *c, const struct nc_library *lib, int id)
{
	c->scratch[KEEP_ID] = lib ? (uint64_t)(uint32_t)file_id(lib, id) : 0;
	c->scratch[KEEP_VALUE] = lib ? handle_take(&netcdf_objects, lib->owner,
						   key_of((int)c->scratch[KEEP_ID], NC_FILE))
				     : 0;
}

static void forget(const struct nc_library *lib, const struct nc_variable *v)
{
	if (variable_of(value_of(lib, v->id, v->variable)) == v)
		handle_take(&netcdf_objects, lib->owner, key_of(v->id, v->variable));
}

void nc_closed(struct call *c, const struct nc_library *lib, int result)
{
	const uint64_t value = c->scratch[KEEP_VALUE];
	struct nc_file *f = file_of(value);
	uint32_t next;
	int format;

	if (!lib || !value)
		return;
	if (result && lib->format((int)c->scratch[KEEP_ID], &format) == 0) {
		remember(lib, (int)c->scratch[KEEP_ID], NC_FILE, value); /* it is still open */
		return;
	}
	for (uint32_t at = f ? f->first : 0; at; at = next) {
		struct nc_variable *v = &known.variable[at - 1];

		next = v->next;
		forget(lib, v);
		atomic_store(&v->used, 0);
	}
	if (f)
		atomic_store(&f->used, 0);
}

/* ---- variables and groups ---- */

/* The number of a free variable + 1, in the file's list; 0: none. */
static uint32_t take_variable(struct nc_file *f)
{
	const uint32_t from = atomic_fetch_add_explicit(&known.next, 1, memory_order_relaxed);

	for (uint32_t i = 0; i < VARIABLES; i++) {
		const uint32_t place = (from + i) % VARIABLES;
		struct nc_variable *v = &known.variable[place];
		uint32_t unused = 0;

		if (!atomic_compare_exchange_strong(&v->used, &unused, 1))
			continue;
		v->file = f;
		v->next = f->first;
		v->storage_recorded = false;
		v->collective = false;
		f->first = place + 1;
		return place + 1;
	}
	full("variables");
	return 0;
}

static bool is_unlimited(const struct nc_library *lib, int id, int dimension)
{
	int dimensions[UNLIMITED], n = 0;

	if (!lib->all_unlimited)
		return lib->unlimited(id, dimensions) == 0 && dimensions[0] == dimension;
	for (int depth = 0; depth < DEPTH; depth++) {
		if (lib->all_unlimited(id, &n, NULL) == 0 && n <= UNLIMITED &&
		    lib->all_unlimited(id, &n, dimensions) == 0)
			for (int i = 0; i < n; i++)
				if (dimensions[i] == dimension)
					return true;
		if (!lib->group_parent || lib->group_parent(id, &id) != 0)
			return false;
	}
	return false;
}

/* Name, element size and extents of a variable into v and `name`. */
static bool measure(const struct nc_library *lib, struct nc_variable *v, char *name)
{
	int type = 0, rank = 0, dimension[SHAPE_RANK];
	size_t size = 0;

	if (lib->variable(v->id, v->variable, name, &type, &rank, NULL, NULL) != 0 || rank < 0)
		return false;
	v->rank = (uint32_t)rank;
	memset(v->extent, 0, sizeof(v->extent));
	v->element = (uint64_t)nc_type_bytes(type);
	if (!v->element && lib->type && lib->type(v->id, type, NULL, &size) == 0)
		v->element = size;
	if (rank > SHAPE_RANK ||
	    lib->variable(v->id, v->variable, NULL, NULL, NULL, dimension, NULL) != 0)
		return rank > SHAPE_RANK;
	for (int d = 0; d < rank; d++)
		if (is_unlimited(lib, v->id, dimension[d]) ||
		    lib->dimension(v->id, dimension[d], &v->extent[d]) != 0)
			v->extent[d] = 0;
	return true;
}

uint64_t nc_length(const struct nc_library *lib, const struct nc_variable *v, uint32_t d)
{
	int dimension[SHAPE_RANK];
	uint64_t length = 0;

	if (v->extent[d])
		return v->extent[d];
	if (lib->variable(v->id, v->variable, NULL, NULL, NULL, dimension, NULL) != 0 ||
	    lib->dimension(v->id, dimension[d], &length) != 0)
		return 0;
	return length;
}

/* The group's path, without a slash at its end; false: it has none or is too long. */
static bool group_path(const struct nc_library *lib, int id, char *out)
{
	size_t length = 0;

	out[0] = '\0';
	if (lib->api == PNETCDF || !lib->group_name || lib->group_name(id, &length, NULL) != 0 ||
	    length >= NAME - VARIABLE_NAME || lib->group_name(id, &length, out) != 0)
		return false;
	if (length && out[length - 1] == '/')
		out[length - 1] = '\0';
	return true;
}

static uint32_t define_variable(struct call *c, const struct nc_library *lib,
				const struct nc_variable *v, uint32_t parent, const char *path)
{
	struct object_def def = {.parent = parent, .name = path};

	/* what does not fit into a definition is left out: rank says how many extents follow */
	def.number[0] = v->element;
	def.number[1] = v->rank < 14 ? v->rank : 14;
	for (uint32_t d = 0; d < def.number[1]; d++)
		def.number[2 + d] = v->extent[d];
	def.numbers = 2 + (uint32_t)def.number[1];
	return object_define(
		c, lib->api == PNETCDF ? OBJECT_PNETCDF_VARIABLE : OBJECT_NETCDF_VARIABLE, &def);
}

/* The object of the group that an id stands for; the file's if it is the root. */
static uint32_t parent_of(struct call *c, const struct nc_library *lib, int id, struct nc_file *f)
{
	const struct nc_variable *group =
		id == file_id(lib, id) ? NULL : nc_variable(c, lib, id, NC_FILE);

	return group ? group->object : f->object;
}

static bool define(struct call *c, const struct nc_library *lib, struct nc_variable *v)
{
	char path[NAME] = "";
	size_t at = 0;

	if (group_path(lib, v->id, path)) {
		at = strlen(path);
		if (v->variable != NC_FILE)
			path[at++] = '/';
	}
	if (v->variable == NC_FILE) {
		const struct object_def def = {.parent = v->file->object, .name = path};

		v->object = object_define(c, OBJECT_NETCDF_GROUP, &def);
		return true;
	}
	if (!measure(lib, v, path + at))
		return false;
	v->object = define_variable(c, lib, v, parent_of(c, lib, v->id, v->file), path);
	return true;
}

struct nc_variable *nc_variable(struct call *c, const struct nc_library *lib, int id, int variable)
{
	struct nc_variable *v = variable_of(value_of(lib, id, variable));
	struct nc_file *f = nc_file(lib, id);

	if (v && v->file == f)
		return v;
	if (!f &&
	    !(f = value_of(lib, file_id(lib, id), NC_FILE) ? NULL
							   : late_file(c, lib, file_id(lib, id))))
		return NULL;
	const uint32_t place = take_variable(f);
	if (!place)
		return NULL;
	v = &known.variable[place - 1];
	v->id = id;
	v->variable = variable;
	if (!define(c, lib, v)) {
		v->variable = -1; /* stays in the file's list, under no id */
		return NULL;
	}
	remember(lib, id, variable, v->object | (uint64_t)place << 32);
	return v;
}

/* Elements from the first to the last that the map reaches, of which `total` are moved. */
static bool has_holes(uint32_t rank, const uint64_t *count, const int64_t *map)
{
	uint64_t span = 1, total = 1;

	for (uint32_t d = 0; d < rank; d++) {
		const uint64_t step = map[d] < 0 ? -(uint64_t)map[d] : (uint64_t)map[d];

		if (count[d] == 0)
			return false;
		span += (count[d] - 1) * step;
		total *= count[d];
	}
	return span > total;
}

void nc_mapped(struct call *c, enum nc_api api, int id, int variable, const void *count,
	       const void *map)
{
	KEEP_ERRNO;
	const struct nc_library *lib = nc_library(c->wrapper, api);
	const struct nc_variable *v =
		lib && c->thread && count && map && (c->error == 0 || c->error == NC_ERANGE)
			? nc_variable(c, lib, id, variable)
			: NULL;

	if (v && v->rank && has_holes(v->rank, count, map))
		call_scattered(c);
}

void nc_renamed(struct call *c, enum nc_api api, int id, int variable)
{
	const struct nc_library *lib = nc_library(c->wrapper, api);

	if (lib && !c->error) /* it has another name now: to be asked again */
		handle_take(&netcdf_objects, lib->owner, key_of(id, variable));
}

void netcdf_forget(void)
{
	memory_wipe(&known, sizeof(known));
}
