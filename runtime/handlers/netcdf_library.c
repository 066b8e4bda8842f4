/* The copies of netCDF-C and PnetCDF in this process, and the functions of each that we ask. */
#include <string.h>

#include "edges/edges.h"
#include "handlers/library.h"
#include "handlers/netcdf_model.h"

enum { COPIES = 16, READY = 1, REFUSED };

/* A copy's entry is filled by whoever puts its key there. */
static struct nc_library libraries[COPIES];

static bool find_functions(struct nc_library *lib, void *library)
{
	const struct {
		void *slot;
		const char *name[2]; /* by enum nc_api; NULL: it has none */
		bool may_miss;
	} wanted[] = {
		{&lib->variable, {"nc_inq_var", "ncmpi_inq_var"}, false},
		{&lib->dimension, {"nc_inq_dimlen", "ncmpi_inq_dimlen"}, false},
		{&lib->unlimited, {"nc_inq_unlimdim", "ncmpi_inq_unlimdim"}, false},
		{&lib->format, {"nc_inq_format", "ncmpi_inq_format"}, false},
		{&lib->path, {"nc_inq_path", NULL}, true},
		{&lib->all_unlimited, {"nc_inq_unlimdims", NULL}, true},
		{&lib->group_name, {"nc_inq_grpname_full", NULL}, true},
		{&lib->group_parent, {"nc_inq_grp_parent", NULL}, true},
		{&lib->type, {"nc_inq_type", NULL}, true},
		{&lib->format_extended, {"nc_inq_format_extended", NULL}, true},
		{&lib->chunking, {"nc_inq_var_chunking", NULL}, true},
		{&lib->deflate, {"nc_inq_var_deflate", NULL}, true},
		{&lib->filters, {"nc_inq_var_filter_ids", NULL}, true},
		{&lib->fill, {"nc_inq_var_fill", NULL}, true},
		{&lib->path_int, {NULL, "ncmpi_inq_path"}, true},
		{&lib->info, {NULL, "ncmpi_inq_file_info"}, true},
		{&lib->pending, {NULL, "ncmpi_inq_nreqs"}, true},
	};

	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		const char *name = wanted[i].name[lib->api];
		void *found = name ? library_function(library, name) : NULL;

		if (!found && !wanted[i].may_miss) {
			note("this %s has no %s: its calls are recorded without details",
			     lib->api == PNETCDF ? "PnetCDF" : "netCDF", name);
			return false;
		}
		memcpy(wanted[i].slot, &found, sizeof(found));
	}
	return true;
}

static bool fill(struct nc_library *lib, uint32_t wrapper, enum nc_api api)
{
	lib->api = api;
	if (!find_functions(lib, library_of(wrapper)))
		return false;
	lib->owner = library_owner((const void *)(uintptr_t)lib->variable, edge_library(wrapper));
	return true;
}

struct nc_library *nc_library(uint32_t wrapper, enum nc_api api)
{
	const uint64_t key = edge_library(wrapper);

	for (int i = 0; i < COPIES; i++) {
		struct nc_library *lib = &libraries[i];
		uint64_t there = atomic_load_explicit(&lib->key, memory_order_acquire);

		if (there == key)
			return atomic_load_explicit(&lib->ready, memory_order_acquire) == READY
				       ? lib
				       : NULL;
		if (there || !atomic_compare_exchange_strong(&lib->key, &there, key)) {
			if (there == key)
				return NULL; /* another thread is about to fill it */
			continue;
		}
		const bool known = fill(lib, wrapper, api);
		atomic_store_explicit(&lib->ready, known ? READY : REFUSED, memory_order_release);
		return known ? lib : NULL;
	}
	return NULL;
}
