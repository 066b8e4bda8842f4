/* Who called a function: return addresses on the stack, found by the tables that compilers leave for exceptions. */
#ifndef FATHOM_UNWIND_H
#define FATHOM_UNWIND_H

#include <stdbool.h>
#include <stdint.h>

/* A function that waits for another: where that one will return to, and the place on the stack that says so. */
struct caller {
	const void *const *slot;
	const void *held;    /* what the slot holds: signed, where return addresses are */
	const void *address; /* the same without a signature */
};

/* The callers of the function that `address` is in, from inside outwards; `address` has to be a return address of the
 * calling thread's own stack. Returns how many: 0 where nothing says so. Allocates nothing, takes no lock of ours. */
uint32_t unwind(const void *address, struct caller *callers, uint32_t most);

#endif
