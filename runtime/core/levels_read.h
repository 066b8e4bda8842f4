/* Text of a selection into its tables. For levels.c and its test. */
#ifndef FATHOM_LEVELS_READ_H
#define FATHOM_LEVELS_READ_H

#include "core/levels.h"

enum { LAYER_BITS = 0x3fffffff }; /* layers that can be selected */

/* Reads l->text, l->bytes long, into l; false: it is not as the page says, and nothing of it counts. */
bool levels_read(struct levels *l);
/* The same from what `--level`, `--layers` and `--files` said; files: newline-separated globs, or NULL. */
bool levels_of_gate(struct levels *l, uint64_t gate, const char *files);

#endif
