/* netCDF-C's reads and writes: what they select, how many bytes that is in memory, and how the variable is stored. */
#include <stdio.h>

#include "handlers/library.h"
#include "handlers/netcdf.h"

/* Fields of the rows, in order. */
enum { SIZE, BYTES, SELECTION, START, MEMORY_TYPE, COLLECTIVE };
enum { CHUNKED, CONTIGUOUS, COMPACT, STORAGES }; /* NC_CHUNKED … */

static void tell_number(struct call *c, const struct nc_variable *v, const char *key, long number)
{
	char text[24];

	snprintf(text, sizeof(text), "%ld", number);
	object_hint(c, v->object, true, key, text);
}

static void tell_chunk(struct call *c, const struct nc_variable *v, const size_t *size)
{
	char text[22 * SHAPE_RANK];
	int at = 0;

	for (uint32_t d = 0; d < v->rank; d++)
		at += snprintf(text + at, sizeof(text) - (size_t)at, "%s%zu", d ? "x" : "",
			       size[d]);
	if (at)
		object_hint(c, v->object, true, "chunk", text);
}

/* At its first data: by now its storage is settled. */
static void tell_storage(struct call *c, const struct nc_library *lib, struct nc_variable *v)
{
	static const char *const storages[] = {"chunked", "contiguous", "compact"};
	int storage = -1, shuffle = 0, deflate = 0, level = 0, no_fill = 0;
	size_t size[SHAPE_RANK], filters = 0;

	v->storage_recorded = true;
	if (v->rank > SHAPE_RANK)
		return;
	if (lib->fill && lib->fill(v->id, v->variable, &no_fill, NULL) == 0)
		object_hint(c, v->object, true, "fill", no_fill ? "no" : "yes");
	if (!lib->chunking || lib->chunking(v->id, v->variable, &storage, size) != 0 ||
	    storage < 0 || storage >= STORAGES)
		return; /* not netCDF-4 */
	object_hint(c, v->object, true, "storage", storages[storage]);
	if (storage != CHUNKED)
		return;
	tell_chunk(c, v, size);
	if (lib->deflate && lib->deflate(v->id, v->variable, &shuffle, &deflate, &level) == 0) {
		tell_number(c, v, "shuffle", shuffle);
		tell_number(c, v, "deflate", deflate ? level : 0);
		filters = (size_t)(shuffle != 0) + (size_t)(deflate != 0);
	}
	if (lib->filters && lib->filters(v->id, v->variable, &filters, NULL) == 0)
		tell_number(c, v, "filter_count", (long)filters);
}

/* Do all ranks of the file make this call together? */
static bool is_collective(const struct nc_variable *v)
{
	const struct nc_file *f = v->file;

	return f->parallel && (f->over_pnetcdf ? f->collective : v->collective);
}

void netcdf_data(struct call *c, int id, int variable, const void *start, const void *count,
		 const void *stride, int64_t type)
{
	KEEP_ERRNO;
	const struct nc_library *lib = nc_library(c->wrapper, NETCDF);
	const bool moved = c->error == 0 || c->error == NC_ERANGE;
	struct nc_variable *v =
		lib && c->thread && moved ? nc_variable(c, lib, id, variable) : NULL;
	struct nc_selected selected;

	c->field[SIZE] = c->field[BYTES] = -1;
	if (!v)
		return;
	if (!v->storage_recorded)
		tell_storage(c, lib, v);
	selected = nc_select(c, lib, v, start, count, stride);
	c->object = v->object;
	c->field[SIZE] = c->field[BYTES] =
		nc_times(selected.total, type ? nc_type_bytes((int)type) : (int64_t)v->element);
	c->field[SELECTION] = selected.number;
	c->field[START] = selected.start;
	c->field[COLLECTIVE] = is_collective(v);
}
