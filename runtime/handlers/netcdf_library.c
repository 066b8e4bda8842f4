/* The copies of netCDF-C and PnetCDF in this process, and the functions of each that we ask. */
#include <string.h>

#include "edges/edges.h"
#include "handlers/library.h"
#include "handlers/netcdf_model.h"

static struct nc_library libraries[LIBRARY_COPIES];

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
		{&lib->version, {"nc_inq_libvers", "ncmpi_inq_libvers"}, true},
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
		void *symbol = name ? library_function(library, name) : NULL;

		if (!symbol && !wanted[i].may_miss) {
			note("this %s has no %s: its calls are recorded without details",
			     lib->api == PNETCDF ? "PnetCDF" : "netCDF", name);
			return false;
		}
		memcpy(wanted[i].slot, &symbol, sizeof(symbol));
	}
	return true;
}

static void tell_version(const struct nc_library *lib)
{
	const char *text = lib->version ? lib->version() : "";
	int length = (int)strcspn(text, " \"");

	if (length)
		note_library("%s %.*s", lib->api == PNETCDF ? "PnetCDF" : "netCDF", length, text);
}

static bool fill(void *entry, uint32_t wrapper, int api)
{
	struct nc_library *lib = entry;

	lib->api = (enum nc_api)api;
	if (!find_functions(lib, library_of(wrapper)))
		return false;
	lib->owner = library_owner((const void *)(uintptr_t)lib->variable, edge_library(wrapper));
	tell_version(lib);
	return true;
}

struct nc_library *nc_library(uint32_t wrapper, enum nc_api api)
{
	return library_copy(libraries, sizeof(libraries[0]), wrapper, fill, (int)api);
}
