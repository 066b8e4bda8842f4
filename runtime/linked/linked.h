/* The parts of a program that Fathom is linked into. */
#ifndef FATHOM_LINKED_H
#define FATHOM_LINKED_H

#include <link.h>
#include <stdint.h>

/* What a catalogd function was replaced by: slot.*.inc. */
struct linked_slot {
	const char *name;
	void **slot;     /* where calls go */
	void *real;      /* what a wrapper calls */
	const int *mark; /* brings this runtime into the program */
};

/* Points the slots of these layers to wrappers, and those of hooks. */
void slots_point(uint32_t layers);

/* What is in the program of what handlers ask for; `address` is NULL where it is not. Generated. */
struct linked_name {
	const char *name;
	void *address;
};
extern const struct linked_name linked_names[];
extern const uint32_t linked_names_count;

extern struct link_map linked_program; /* filled by where_begin */

#endif
