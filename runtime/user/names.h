/* Names of regions and marks: each is an op, with the keys of its numbers as fields. */
#ifndef FATHOM_NAMES_H
#define FATHOM_NAMES_H

#define FATHOM_INSIDE
#include "user/fathom.h"

/* The op, and the hash of the name alone. UINT32_MAX: no memory. */
uint32_t name_op(const char *name, const struct fathom_with *with, uint64_t *name_hash);
uint32_t with_count(const struct fathom_with *with);

#endif
