/* The copies of HDF5 in this process, and the functions of each that we ask. */
#include <string.h>

#include "edges/edges.h"
#include "handlers/hdf5.h"
#include "handlers/library.h"

enum { COPIES = 16, READY = 1, REFUSED };

/* A copy's entry is filled by whoever puts its key there. */
static struct hdf5_library libraries[COPIES];

static bool find_functions(struct hdf5_library *lib, void *library)
{
	const struct {
		void *slot;
		const char *name;
		bool may_miss;
	} wanted[] = {
		{&lib->version, "H5get_libversion", false},
		{&lib->type_of, "H5Iget_type", false},
		{&lib->name_of, "H5Iget_name", false},
		{&lib->file_of, "H5Iget_file_id", false},
		{&lib->file_name, "H5Fget_name", false},
		{&lib->file_close, "H5Fclose", false},
		{&lib->type_size, "H5Tget_size", false},
		{&lib->type_close, "H5Tclose", false},
		{&lib->dataset_type, "H5Dget_type", false},
		{&lib->dataset_space, "H5Dget_space", false},
		{&lib->space_close, "H5Sclose", false},
		{&lib->dimensions, "H5Sget_simple_extent_dims", false},
		{&lib->extent, "H5Sget_simple_extent_npoints", false},
		{&lib->selected, "H5Sget_select_npoints", false},
		{&lib->selection, "H5Sget_select_type", false},
		{&lib->bounds, "H5Sget_select_bounds", false},
		{&lib->blocks, "H5Sget_select_hyper_nblocks", false},
		{&lib->block_list, "H5Sget_select_hyper_blocklist", false},
		{&lib->points, "H5Sget_select_elem_npoints", false},
		{&lib->point_list, "H5Sget_select_elem_pointlist", false},
		{&lib->is_regular, "H5Sis_regular_hyperslab", true},
		{&lib->regular, "H5Sget_regular_hyperslab", true},
		{&lib->chunk_bytes, "H5Dget_chunk_storage_size", true},
		{&lib->transfer_mode, "H5Pget_dxpl_mpio", true},
	};

	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		void *found = library_function(library, wanted[i].name);

		if (!found && !wanted[i].may_miss) {
			note("this HDF5 has no %s: its calls are recorded without details",
			     wanted[i].name);
			return false;
		}
		memcpy(wanted[i].slot, &found, sizeof(found));
	}
	return true;
}

static bool fill(struct hdf5_library *lib, uint32_t wrapper)
{
	unsigned major = 0, minor = 0, release = 0;

	if (!find_functions(lib, library_of(wrapper)))
		return false;
	lib->owner = library_owner((const void *)(uintptr_t)lib->version, edge_library(wrapper));
	lib->version(&major, &minor, &release);
	lib->release = major * 10000 + minor * 100 + release;
	lib->short_ids = lib->release < 11000;
	return true;
}

struct hdf5_library *hdf5_library(uint32_t wrapper)
{
	const uint64_t key = edge_library(wrapper);

	for (int i = 0; i < COPIES; i++) {
		struct hdf5_library *lib = &libraries[i];
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
		const bool known = fill(lib, wrapper);
		atomic_store_explicit(&lib->ready, known ? READY : REFUSED, memory_order_release);
		return known ? lib : NULL;
	}
	return NULL;
}

int64_t hdf5_mem_type(uint32_t wrapper, uint64_t second, uint64_t third)
{
	const struct hdf5_library *lib = hdf5_library(wrapper);

	if (!lib || (lib->release >= 11000 && lib->release < 11002))
		return -1;
	return (int32_t)(lib->release < 11000 ? third : second);
}
