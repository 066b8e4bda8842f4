/* Where calls are made from. */
#ifndef FATHOM_SITES_H
#define FATHOM_SITES_H

#include <stdint.h>

struct thread;
struct levels;
struct op;

void where_begin(void);
/* Of an outermost call of `op`. */
uint32_t site_of(struct thread *t, const struct op *op, const void *frame, const void *address);
/* Tables whose `code` the call from this address is in. */
unsigned site_code(struct thread *t, const struct levels *l, const struct op *op, const void *frame,
		   const void *address);

#endif
