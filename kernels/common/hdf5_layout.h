/* What the parallel and the serial HDF5 form share: groups, attributes, datasets of a layout. */
#ifndef HDF5_LAYOUT_H
#define HDF5_LAYOUT_H

#include <hdf5.h>

#include "layout.h"

/* Ends the program when HDF5 said no. */
hid_t hdf5_check(hid_t id, const char *call, const char *object);
hid_t hdf5_memory_type(enum element type);
/* Groups named in the arrays' paths, and the file's attributes. */
void hdf5_begin(hid_t file, const struct layout *l);
hid_t hdf5_create(hid_t file, const struct layout *l, const struct array *a);

#endif
