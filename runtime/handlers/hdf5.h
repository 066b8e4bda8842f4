/* What the rows of catalog/probes/hdf5.toml use, and what the HDF5 handlers share. */
#ifndef FATHOM_HDF5_H
#define FATHOM_HDF5_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/call.h"

/* ---- used by rows ---- */

uint32_t hdf5_object(uint32_t wrapper, int64_t id);
/* hid_t is 4 bytes before HDF5 1.10: the register's upper half is noise. */
bool hdf5_failed(uint32_t wrapper, int64_t id);
/* `result` < 0: the call failed, or goes on behind the program's back: nothing is asked. */
void hdf5_file_opened(struct call *c, int64_t result, const char *name);
void hdf5_file_reopened(struct call *c, int64_t result, int64_t file);
void hdf5_dataset_opened(struct call *c, int64_t result, int64_t where, const char *name);
void hdf5_dataset_created(struct call *c, int64_t result, int64_t where, const char *name);
void hdf5_object_opened(struct call *c, int64_t result, int64_t where, const char *name);
void hdf5_closing(struct call *c, int64_t id);
void hdf5_closed(struct call *c, int result);
void hdf5_released(struct call *c, int holds);
void hdf5_closed_turn(struct call *c, int result);
void hdf5_turn(struct call *c, int64_t id, unsigned field);
void hdf5_data(struct call *c, int result, int64_t dataset, int64_t memory_type,
	       int64_t memory_space, int64_t file_space, int64_t transfer);
int64_t hdf5_chunk_start(const struct call *c, int64_t dataset, const uint64_t *offset);
int64_t hdf5_chunk_bytes(const struct call *c, int64_t dataset, const uint64_t *offset);

void hdf5_offset_used(void);
/* The type of memory among the arguments of H5FD_read and H5FD_write, whose order changed. -1: not known. */
int64_t hdf5_mem_type(uint32_t wrapper, uint64_t second, uint64_t third);

/* ---- shared by the handlers ---- */

enum {
	HDF5_RANK = 32,     /* H5S_MAX_RANK */
	HDF5_DATASET = 5,   /* enum H5I_type_t, the same in all versions */
	HDF5_LAST_WORD = 2, /* H5S_ALL, H5S_BLOCK, H5S_PLIST: smaller than any dataspace's handle */
	HDF5_NONE = 0,      /* enum H5S_sel_type */
	HDF5_POINTS = 1,
	HDF5_HYPERSLABS = 2,
};

/* One copy of the library. Only its local queries; NULL where a copy has none. */
struct hdf5_library {
	_Atomic uint64_t key; /* edge_library() */
	_Atomic int ready;
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

#endif
