/* Calls that one function of the program begins and another ends. For runtime/user and handlers; the thread's
 * own. */
#ifndef FATHOM_SPANS_H
#define FATHOM_SPANS_H

#include <stdint.h>

struct call;
struct thread;

/* Whose stream the calls of this moment go to: a signal handler's may be another. NULL: nobody's yet. */
struct thread *span_thread(void);
/* Enters the innermost one; NULL: it is not recorded, or there are too many. `key` becomes its scratch[0]. */
struct call *span_begin(uint32_t op, uint32_t object, uint64_t key, const void *frame,
			const void *site);
/* The innermost of this layer and key; NULL: none is open. */
struct call *span_find(uint8_t layer, uint64_t key);
/* Those that a jump, or the end of the call around them, ended. */
void spans_forget_left(struct thread *t);
/* Ends this one, and those that began in it. */
void span_end(struct call *c, uint64_t ended);

#endif
