/* HDF5's knobs, as catalog/knobs/hdf5.toml has them; the table is generated. */
#ifndef FATHOM_KNOBS_H
#define FATHOM_KNOBS_H

#include <stdbool.h>
#include <stdint.h>

enum { KNOB_VALUES = 32, KNOBS_MOST = 64 };

union knob_value {
	int64_t whole;
	double real;
};

/* Lists by the calls that take them. */
enum knob_list { FILE_CREATE, FILE_ACCESS, DATASET_CREATE, DATASET_ACCESS, TRANSFER, KNOB_LISTS };

struct knob {
	const char *name;
	const char *function; /* of the library, that sets it */
	uint8_t list;
	uint8_t values;
	bool many;     /* so many values and more: extents */
	bool parallel; /* of files that are opened by MPI-IO only */
	bool serial;   /* of others only */
	bool real[4];  /* which values are */
	int (*set)(void *function, int64_t list, const union knob_value *value, uint32_t n);
};
extern const struct knob knobs[];
extern const uint32_t knobs_count; /* at most KNOBS_MOST */

#endif
