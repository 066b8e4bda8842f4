/* What calls are made on, and what of it is left out. */
#ifndef FATHOM_OBJECTS_H
#define FATHOM_OBJECTS_H

#include <stdint.h>

#include "core/call.h"

struct levels;

uint32_t object_define_in(struct thread *t, struct call *c, enum object_class class,
			  const struct object_def *def); /* t is claimed */

void object_hint_in(struct thread *t, uint32_t object, bool in_force, const char *key,
		    const char *value); /* t is claimed */
/* Is this the first time that a thing with this hash is met? Also where there is no room to remember it. */
bool object_is_first(uint64_t hash);

uint32_t objects_left_out(const struct levels *l, uint32_t object); /* tables, a bit each */
/* The bits above a new object's number; its name, for a selection that comes later. */
uint32_t left_out_bits(enum object_class class, const struct object_def *def);
void left_out_add(uint32_t object, enum object_class class, const struct object_def *def);

#endif
