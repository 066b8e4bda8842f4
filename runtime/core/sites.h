/* Where calls are made from. */
#ifndef FATHOM_SITES_H
#define FATHOM_SITES_H

#include <stdint.h>

struct thread;

void where_begin(void);
uint32_t site_of(struct thread *t, const void *frame, const void *address);
struct levels;
/* Tables whose `code` the call from this address is in. */
unsigned site_code(struct thread *t, const struct levels *l, const void *frame,
		   const void *address);

#endif
