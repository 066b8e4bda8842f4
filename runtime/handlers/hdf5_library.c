/* The copies of HDF5 in this process, and the functions of each that we ask. */
#include <string.h>

#include "edges/edges.h"
#include "handlers/hdf5.h"
#include "handlers/library.h"

static struct hdf5_library libraries[LIBRARY_COPIES];

const struct hdf5_driver hdf5_drivers[HDF5_DRIVERS] = {
	{"sec2", "H5FD_sec2_init", "H5FD_SEC2_id_g"},
	{"mpio", "H5FD_mpio_init", "H5FD_MPIO_id_g"},
	{"core", "H5FD_core_init", "H5FD_CORE_id_g"},
	{"stdio", "H5FD_stdio_init", "H5FD_STDIO_id_g"},
	{"family", "H5FD_family_init", "H5FD_FAMILY_id_g"},
	{"multi", "H5FD_multi_init", "H5FD_MULTI_id_g"},
	{"log", "H5FD_log_init", "H5FD_LOG_id_g"},
	{"splitter", "H5FD_splitter_init", "H5FD_SPLITTER_id_g"},
	{"direct", "H5FD_direct_init", "H5FD_DIRECT_id_g"},
	{"subfiling", "H5FD_subfiling_init", "H5FD_SUBFILING_id_g"},
};

/* Another copy of HDF5 may have what this one lacks, and must not be asked. */
static void *own(const struct hdf5_library *lib, void *library, const char *name)
{
	void *found = library_function(library, name);

	return found && library_owner(found, 0) == lib->owner ? found : NULL;
}

static void find_numbers(struct hdf5_library *lib, void *library)
{
	for (int i = 0; i < HDF5_DRIVERS; i++) {
		void *found = own(lib, library, hdf5_drivers[i].function);

		memcpy(&lib->driver[i], &found, sizeof(found));
		lib->driver_number[i] = own(lib, library, hdf5_drivers[i].variable);
	}
	lib->default_access = own(lib, library, "H5P_LST_FILE_ACCESS_ID_g");
	lib->default_dataset = own(lib, library, "H5P_LST_DATASET_CREATE_ID_g");
	lib->copied_access = library_variable(library, "H5P_LST_FILE_ACCESS_ID_g");
}

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
		{&lib->actual_mode, "H5Pget_mpio_actual_io_mode", true},
		{&lib->no_collective, "H5Pget_mpio_no_collective_cause", true},
		{&lib->event_count, "H5ESget_count", true},
		{&lib->attribute_name, "H5Aget_name", true},
		{&lib->attribute_type, "H5Aget_type", true},
		{&lib->attribute_space, "H5Aget_space", true},
		{&lib->type_class, "H5Tget_class", true},
		{&lib->type_sign, "H5Tget_sign", true},
		{&lib->type_order, "H5Tget_order", true},
		{&lib->type_is_variable, "H5Tis_variable_str", true},
		{&lib->type_super, "H5Tget_super", true},
		{&lib->dataset_list, "H5Dget_create_plist", true},
		{&lib->dataset_access, "H5Dget_access_plist", true},
		{&lib->file_list, "H5Fget_create_plist", true},
		{&lib->metadata_cache, "H5Fget_mdc_size", true},
		{&lib->is_native, "H5VLobject_is_native", true},
		{&lib->list_close, "H5Pclose", true},
		{&lib->list_layout, "H5Pget_layout", true},
		{&lib->list_chunk, "H5Pget_chunk", true},
		{&lib->list_filters, "H5Pget_nfilters", true},
		{&lib->list_filter, "H5Pget_filter2", true},
		{&lib->list_fill_defined, "H5Pfill_value_defined", true},
		{&lib->list_fill_time, "H5Pget_fill_time", true},
		{&lib->list_alloc_time, "H5Pget_alloc_time", true},
		{&lib->list_chunk_cache, "H5Pget_chunk_cache", true},
		{&lib->list_driver, "H5Pget_driver", true},
		{&lib->list_alignment, "H5Pget_alignment", true},
		{&lib->list_cache, "H5Pget_cache", true},
		{&lib->list_sieve, "H5Pget_sieve_buf_size", true},
		{&lib->list_meta_block, "H5Pget_meta_block_size", true},
		{&lib->list_versions, "H5Pget_libver_bounds", true},
		{&lib->list_collective_read, "H5Pget_all_coll_metadata_ops", true},
		{&lib->list_collective_write, "H5Pget_coll_metadata_write", true},
		{&lib->list_strategy, "H5Pget_file_space_strategy", true},
		{&lib->list_page, "H5Pget_file_space_page_size", true},
	};

	lib->owner = library_owner(library_function(library, "H5get_libversion"), 0);
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		void *found = own(lib, library, wanted[i].name);

		if (!found && !wanted[i].may_miss) {
			note("this HDF5 has no %s: its calls are recorded without details",
			     wanted[i].name);
			return false;
		}
		memcpy(wanted[i].slot, &found, sizeof(found));
	}
	find_numbers(lib, library);
	return true;
}

static bool fill(void *entry, uint32_t wrapper, int api)
{
	struct hdf5_library *lib = entry;
	unsigned major = 0, minor = 0, release = 0;

	(void)api;
	if (!find_functions(lib, library_of(wrapper)))
		return false;
	lib->version(&major, &minor, &release);
	lib->release = major * 10000 + minor * 100 + release;
	lib->short_ids = lib->release < 11000;
	return true;
}

struct hdf5_library *hdf5_library(uint32_t wrapper)
{
	return library_copy(libraries, sizeof(libraries[0]), wrapper, fill, 0);
}

int64_t hdf5_mem_type(uint32_t wrapper, uint64_t second, uint64_t third)
{
	const struct hdf5_library *lib = hdf5_library(wrapper);

	if (!lib || (lib->release >= 11000 && lib->release < 11002))
		return -1;
	return (int32_t)(lib->release < 11000 ? third : second);
}
