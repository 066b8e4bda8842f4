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

/* What we ask of a copy: where its address is kept, its name, and whether a version may be without it. The first
 * tells HDF5 from what is linked to it. */
static const struct wanted {
	size_t at;
	const char *name;
	bool may_miss;
} wanted[] = {
	{offsetof(struct hdf5_library, version), "H5get_libversion", false},
	{offsetof(struct hdf5_library, type_of), "H5Iget_type", false},
	{offsetof(struct hdf5_library, name_of), "H5Iget_name", false},
	{offsetof(struct hdf5_library, file_of), "H5Iget_file_id", false},
	{offsetof(struct hdf5_library, file_name), "H5Fget_name", false},
	{offsetof(struct hdf5_library, file_close), "H5Fclose", false},
	{offsetof(struct hdf5_library, type_size), "H5Tget_size", false},
	{offsetof(struct hdf5_library, type_close), "H5Tclose", false},
	{offsetof(struct hdf5_library, dataset_type), "H5Dget_type", false},
	{offsetof(struct hdf5_library, dataset_space), "H5Dget_space", false},
	{offsetof(struct hdf5_library, space_close), "H5Sclose", false},
	{offsetof(struct hdf5_library, dimensions), "H5Sget_simple_extent_dims", false},
	{offsetof(struct hdf5_library, extent), "H5Sget_simple_extent_npoints", false},
	{offsetof(struct hdf5_library, selected), "H5Sget_select_npoints", false},
	{offsetof(struct hdf5_library, selection), "H5Sget_select_type", false},
	{offsetof(struct hdf5_library, bounds), "H5Sget_select_bounds", false},
	{offsetof(struct hdf5_library, blocks), "H5Sget_select_hyper_nblocks", false},
	{offsetof(struct hdf5_library, block_list), "H5Sget_select_hyper_blocklist", false},
	{offsetof(struct hdf5_library, points), "H5Sget_select_elem_npoints", false},
	{offsetof(struct hdf5_library, point_list), "H5Sget_select_elem_pointlist", false},
	{offsetof(struct hdf5_library, is_regular), "H5Sis_regular_hyperslab", true},
	{offsetof(struct hdf5_library, regular), "H5Sget_regular_hyperslab", true},
	{offsetof(struct hdf5_library, chunk_bytes), "H5Dget_chunk_storage_size", true},
	{offsetof(struct hdf5_library, transfer_mode), "H5Pget_dxpl_mpio", true},
	{offsetof(struct hdf5_library, actual_mode), "H5Pget_mpio_actual_io_mode", true},
	{offsetof(struct hdf5_library, no_collective), "H5Pget_mpio_no_collective_cause", true},
	{offsetof(struct hdf5_library, event_count), "H5ESget_count", true},
	{offsetof(struct hdf5_library, attribute_name), "H5Aget_name", true},
	{offsetof(struct hdf5_library, attribute_type), "H5Aget_type", true},
	{offsetof(struct hdf5_library, attribute_space), "H5Aget_space", true},
	{offsetof(struct hdf5_library, type_class), "H5Tget_class", true},
	{offsetof(struct hdf5_library, members), "H5Tget_nmembers", true},
	{offsetof(struct hdf5_library, member_type), "H5Tget_member_type", true},
	{offsetof(struct hdf5_library, type_sign), "H5Tget_sign", true},
	{offsetof(struct hdf5_library, type_order), "H5Tget_order", true},
	{offsetof(struct hdf5_library, type_is_variable), "H5Tis_variable_str", true},
	{offsetof(struct hdf5_library, type_super), "H5Tget_super", true},
	{offsetof(struct hdf5_library, dataset_list), "H5Dget_create_plist", true},
	{offsetof(struct hdf5_library, dataset_access), "H5Dget_access_plist", true},
	{offsetof(struct hdf5_library, file_list), "H5Fget_create_plist", true},
	{offsetof(struct hdf5_library, metadata_cache), "H5Fget_mdc_size", true},
	{offsetof(struct hdf5_library, is_native), "H5VLobject_is_native", true},
	{offsetof(struct hdf5_library, list_close), "H5Pclose", true},
	{offsetof(struct hdf5_library, list_layout), "H5Pget_layout", true},
	{offsetof(struct hdf5_library, list_chunk), "H5Pget_chunk", true},
	{offsetof(struct hdf5_library, list_filters), "H5Pget_nfilters", true},
	{offsetof(struct hdf5_library, list_filter), "H5Pget_filter2", true},
	{offsetof(struct hdf5_library, list_fill_defined), "H5Pfill_value_defined", true},
	{offsetof(struct hdf5_library, list_fill_time), "H5Pget_fill_time", true},
	{offsetof(struct hdf5_library, list_alloc_time), "H5Pget_alloc_time", true},
	{offsetof(struct hdf5_library, list_chunk_cache), "H5Pget_chunk_cache", true},
	{offsetof(struct hdf5_library, list_driver), "H5Pget_driver", true},
	{offsetof(struct hdf5_library, list_alignment), "H5Pget_alignment", true},
	{offsetof(struct hdf5_library, list_cache), "H5Pget_cache", true},
	{offsetof(struct hdf5_library, list_sieve), "H5Pget_sieve_buf_size", true},
	{offsetof(struct hdf5_library, list_meta_block), "H5Pget_meta_block_size", true},
	{offsetof(struct hdf5_library, list_versions), "H5Pget_libver_bounds", true},
	{offsetof(struct hdf5_library, list_collective_read), "H5Pget_all_coll_metadata_ops", true},
	{offsetof(struct hdf5_library, list_collective_write), "H5Pget_coll_metadata_write", true},
	{offsetof(struct hdf5_library, list_strategy), "H5Pget_file_space_strategy", true},
	{offsetof(struct hdf5_library, list_page), "H5Pget_file_space_page_size", true},
	{offsetof(struct hdf5_library, default_access), "H5P_LST_FILE_ACCESS_ID_g", true},
	{offsetof(struct hdf5_library, default_dataset), "H5P_LST_DATASET_CREATE_ID_g", true},
};
enum { WANTED = sizeof(wanted) / sizeof(wanted[0]), NAMES = WANTED + 2 * HDF5_DRIVERS };

/* All of it at once, from the library itself: another copy of HDF5 may have what this one lacks, and must not be
 * asked. */
static bool find_names(uint64_t library, struct edge_name names[NAMES], bool *for_good)
{
	struct edge_name *driver = names + WANTED;

	for (int i = 0; i < WANTED; i++)
		names[i].name = wanted[i].name;
	for (int i = 0; i < HDF5_DRIVERS; i++) {
		driver[2 * i].name = hdf5_drivers[i].function;
		driver[2 * i + 1].name = hdf5_drivers[i].variable;
	}
	return edge_defined(library, names, NAMES, for_good) && names[0].address;
}

/* The module that answers stays loaded from now on. Mostly it is the one that the wrapper calls; a tool that stands
 * before HDF5 has it among what it needs. */
static uint64_t find_owner(uint32_t wrapper, struct edge_name names[NAMES])
{
	uint64_t owner = edge_library(wrapper);
	bool for_good = false;

	if (find_names(owner, names, &for_good) && for_good)
		return owner;
	owner = library_owner(library_function(library_of(wrapper), wanted[0].name), 0);
	find_names(owner, names, &for_good);
	return owner;
}

static bool keep_names(struct hdf5_library *lib, const struct edge_name names[NAMES])
{
	const struct edge_name *driver = names + WANTED;

	for (int i = 0; i < WANTED; i++) {
		if (!names[i].address && !wanted[i].may_miss) {
			note("this HDF5 has no %s: its calls are recorded without details",
			     wanted[i].name);
			return false;
		}
		memcpy((char *)lib + wanted[i].at, &names[i].address, sizeof(names[i].address));
	}
	for (int i = 0; i < HDF5_DRIVERS; i++) {
		memcpy(&lib->driver[i], &driver[2 * i].address, sizeof(driver->address));
		lib->driver_number[i] = driver[2 * i + 1].address;
	}
	lib->copied_access = library_variable(NULL, "H5P_LST_FILE_ACCESS_ID_g");
	return true;
}

static bool fill(void *entry, uint32_t wrapper, int api)
{
	struct hdf5_library *lib = entry;
	unsigned major = 0, minor = 0, release = 0;
	struct edge_name names[NAMES];

	(void)api;
	lib->owner = find_owner(wrapper, names);
	if (!keep_names(lib, names))
		return false;
	lib->version(&major, &minor, &release);
	lib->release = major * 10000 + minor * 100 + release;
	lib->short_ids = lib->release < 11000;
	note_library("HDF5 %u.%u.%u", major, minor, release);
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
