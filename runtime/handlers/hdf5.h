/* What the rows of catalog/probes/hdf5.toml use, and what the HDF5 handlers share. */
#ifndef FATHOM_HDF5_H
#define FATHOM_HDF5_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/call.h"
#include "handlers/library.h"

/* ---- used by rows: `result` < 0 says that the call failed, or goes on behind the program's back, and nothing is
 * asked ---- */

uint32_t hdf5_object(uint32_t wrapper, int64_t id);
uint32_t hdf5_file_object(uint32_t wrapper, int64_t id); /* of the file that it lies in */
/* hid_t is 4 bytes before HDF5 1.10: the register's upper half is noise. */
bool hdf5_failed(uint32_t wrapper, int64_t id);
int64_t hdf5_now(uint32_t wrapper, int64_t events, int64_t result);
/* Of a call with an event set, its wait and its end. */
void hdf5_posted(struct call *c, int64_t events);
void hdf5_waited(struct call *c, int64_t result, int64_t events);
void hdf5_events_closed(struct call *c, int64_t result, int64_t events);
int64_t hdf5_turn(uint32_t wrapper, int64_t id);
void hdf5_file_opened(struct call *c, int64_t result, const char *name, int64_t access);
void hdf5_file_reopened(struct call *c, int64_t result, int64_t file);
/* A program opened a file by a file driver of HDF5, which gives it an address. */
void hdf5_driver_opened(struct call *c, const void *file, const char *name);
/* A group, dataset or named datatype was opened or made, from `where`, by `name` or, if NULL, otherwise. */
void hdf5_object_opened(struct call *c, int64_t result, int64_t where, const char *name);
void hdf5_dataset_created(struct call *c, int64_t result, int64_t where, const char *name,
			  int64_t list);
void hdf5_type_committed(struct call *c, int64_t result, int64_t where, const char *name,
			 int64_t type);
void hdf5_attribute_opened(struct call *c, int64_t result, int64_t where);
void hdf5_closing(struct call *c, int64_t id);
void hdf5_closed(struct call *c, int64_t result);
void hdf5_released(struct call *c, int holds);
void hdf5_closed_turn(struct call *c, int64_t result);
void hdf5_data(struct call *c, int64_t result, int64_t dataset, int64_t memory_type,
	       int64_t memory_space, int64_t file_space, int64_t transfer);
void hdf5_data_of_several(struct call *c, int64_t result, size_t count, const int64_t *dataset,
			  const int64_t *memory_type, const int64_t *memory_space,
			  const int64_t *file_space, int64_t transfer);
void hdf5_attribute_data(struct call *c, int64_t result, int64_t attribute, int64_t memory_type);
int64_t hdf5_chunk_start(const struct call *c, int64_t dataset, const uint64_t *offset);
int64_t hdf5_chunk_bytes(const struct call *c, int64_t dataset, const uint64_t *offset);
void hdf5_named(struct call *c, const char *name);
void hdf5_renamed(struct call *c, const char *from, const char *to);
void hdf5_offset_used(void);
/* The type of memory among the arguments of H5FD_read and H5FD_write, whose order changed. -1: not known. */
int64_t hdf5_mem_type(uint32_t wrapper, uint64_t second, uint64_t third);

/* H5O_token_t, passed by value. */
struct hdf5_token {
	uint8_t byte[16];
};

/* ---- shared by the handlers ---- */

#define HDF5_NAMELESS (1ull << 63) /* in a handle's value: HDF5 would have to search for its path */
#define HDF5_PENDING  INT32_MIN    /* of hdf5_now: what was posted is not done yet */

enum {
	HDF5_RANK = 32, /* H5S_MAX_RANK */
	HDF5_GROUP = 2, /* enum H5I_type_t; these are the same in all versions */
	HDF5_DATATYPE = 3,
	HDF5_DATASET = 5,
	HDF5_LAST_WORD = 2, /* H5S_ALL, H5S_BLOCK, H5S_PLIST: smaller than any dataspace's handle */
	HDF5_NONE = 0,      /* enum H5S_sel_type */
	HDF5_POINTS = 1,
	HDF5_HYPERSLABS = 2,
	HDF5_DRIVERS = 10,
};

/* File drivers, each with the function that gives its number, or the variable, in HDF5 2. Those that are always
 * there first: asking for another by its function registers it. */
extern const struct hdf5_driver {
	const char *name, *function, *variable;
} hdf5_drivers[HDF5_DRIVERS];

/* One copy of the library. Only its local queries; NULL where a copy has none. */
struct hdf5_library {
	struct library_copy copy; /* first */
	uint64_t
		owner; /* the module that answers: libhdf5 itself also when the key is libhdf5_hl */
	unsigned release; /* 1.10.8 is 11008 */
	bool short_ids;
	int (*version)(unsigned *major, unsigned *minor, unsigned *release);
	int (*type_of)(int64_t id);
	int64_t (*name_of)(int64_t id, char *name, size_t size);
	int64_t (*file_of)(int64_t id);
	int64_t (*file_name)(int64_t id, char *name, size_t size);
	int (*file_close)(int64_t id);
	size_t (*type_size)(int64_t type);
	int (*type_close)(int64_t type);
	int64_t (*dataset_type)(int64_t dataset);
	int64_t (*dataset_space)(int64_t dataset);
	int (*space_close)(int64_t space);
	int (*dimensions)(int64_t space, uint64_t *now, uint64_t *most);
	int64_t (*extent)(int64_t space);
	int64_t (*selected)(int64_t space);
	int (*selection)(int64_t space);
	int (*bounds)(int64_t space, uint64_t *low, uint64_t *high);
	int64_t (*blocks)(int64_t space);
	int (*block_list)(int64_t space, uint64_t from, uint64_t n, uint64_t *corners);
	int64_t (*points)(int64_t space);
	int (*point_list)(int64_t space, uint64_t from, uint64_t n, uint64_t *points);
	int (*is_regular)(int64_t space);
	int (*regular)(int64_t space, uint64_t *start, uint64_t *stride, uint64_t *count,
		       uint64_t *block);
	int (*chunk_bytes)(int64_t dataset, const uint64_t *offset, uint64_t *bytes);
	int (*transfer_mode)(int64_t transfer, int *collective);
	int (*actual_mode)(int64_t transfer, int *mode);
	int (*no_collective)(int64_t transfer, uint32_t *own, uint32_t *all);
	int (*event_count)(int64_t events, size_t *open);
	int64_t (*attribute_name)(int64_t attribute, size_t size, char *name);
	int64_t (*attribute_type)(int64_t attribute);
	int64_t (*attribute_space)(int64_t attribute);
	int (*type_class)(int64_t type);
	int (*members)(int64_t type);
	int64_t (*member_type)(int64_t type, unsigned number);
	int (*type_sign)(int64_t type);
	int (*type_order)(int64_t type);
	int (*type_is_variable)(int64_t type);
	int64_t (*type_super)(int64_t type);
	int64_t (*dataset_list)(int64_t dataset);
	int64_t (*dataset_access)(int64_t dataset);
	int64_t (*file_list)(int64_t file);
	int (*metadata_cache)(int64_t file, size_t *most, size_t *clean, size_t *now, int *entries);
	int (*is_native)(int64_t file, unsigned *native);
	int (*list_close)(int64_t list);
	int (*list_layout)(int64_t list);
	int (*list_chunk)(int64_t list, int most, uint64_t *extent);
	int (*list_filters)(int64_t list);
	int (*list_filter)(int64_t list, unsigned which, unsigned *flags, size_t *n,
			   unsigned *values, size_t size, char *name, unsigned *config);
	int (*list_fill_defined)(int64_t list, int *how);
	int (*list_fill_time)(int64_t list, int *when);
	int (*list_alloc_time)(int64_t list, int *when);
	int (*list_chunk_cache)(int64_t list, size_t *slots, size_t *bytes, double *preempt);
	int64_t (*list_driver)(int64_t list);
	int (*list_alignment)(int64_t list, uint64_t *threshold, uint64_t *alignment);
	int (*list_cache)(int64_t list, int *elements, size_t *slots, size_t *bytes,
			  double *preempt);
	int (*list_sieve)(int64_t list, size_t *bytes);
	int (*list_meta_block)(int64_t list, uint64_t *bytes);
	int (*list_versions)(int64_t list, int *low, int *high);
	int (*list_collective_read)(int64_t list, unsigned *on);
	int (*list_collective_write)(int64_t list, unsigned *on);
	int (*list_strategy)(int64_t list, int *strategy, unsigned *persist, uint64_t *threshold);
	int (*list_page)(int64_t list, uint64_t *bytes);
	int64_t (*driver[HDF5_DRIVERS])(void);
	const int64_t *driver_number[HDF5_DRIVERS];
	const int64_t *default_access;  /* the list that H5P_DEFAULT is; if not set there, in the */
	const int64_t *copied_access;   /* program, which has a copy of the variable */
	const int64_t *default_dataset; /* likewise, of the creation of datasets */
};
struct hdf5_library *hdf5_library(uint32_t wrapper); /* NULL: not known */

static inline int64_t hdf5_id(const struct hdf5_library *lib, int64_t id)
{
	return lib && lib->short_ids ? (int32_t)id : id;
}

/* What a dataspace selects, as the row records it: a shape, and where its box begins. */
struct hdf5_selection {
	uint32_t number; /* of the shape; 0: everything */
	int64_t start;   /* row-major element index of the box's first corner; -1: not known */
	int64_t total;   /* elements */
};
struct hdf5_selection hdf5_selected(struct call *c, const struct hdf5_library *lib, int64_t space);
/* Are there others between the elements that a dataspace of memory selects? */
bool hdf5_scattered(const struct hdf5_library *lib, int64_t space);

/* A handle's object, if it is defined, | number of its file's open << 32, and HDF5_NAMELESS. */
uint64_t hdf5_value(uint32_t wrapper, int64_t id);
void hdf5_remember(uint32_t wrapper, int64_t id, uint64_t value);
bool hdf5_parallel(uint64_t value);
int64_t hdf5_take_turn(uint64_t value);
/* Defines a dataset that was opened unseen, or while nobody asked what it is. */
void hdf5_dataset_met(struct call *c, const struct hdf5_library *lib, int64_t id);
bool hdf5_is_compound(const struct hdf5_library *lib, int64_t type);
bool hdf5_of_numbers(const struct hdf5_library *lib, int64_t type); /* integers or floating */
/* Properties in force of c->object. `list`: the one that the dataset was created by, below 0 where the dataset is
 * to be asked for a copy. */
void hdf5_type_hint(struct call *c, const struct hdf5_library *lib, int64_t type);
void hdf5_dataset_hints(struct call *c, const struct hdf5_library *lib, int64_t dataset,
			int64_t list);
/* The name of a file access list's driver; "" when it is not known. */
const char *hdf5_driver_name(const struct hdf5_library *lib, int64_t list);
void hdf5_file_hints(struct call *c, const struct hdf5_library *lib, int64_t file, int64_t access,
		     bool parallel);

#endif
