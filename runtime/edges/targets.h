/* What a name is pointed to in a module. Under the loader's lock, but for target_of. */
#ifndef FATHOM_TARGETS_H
#define FATHOM_TARGETS_H

#include "edges/edges.h"
#include "edges/modules.h"

/* What one name is pointed to: a generated wrapper, a hook, or the hook in front of the wrapper. */
struct target {
	const char *name;
	uint32_t hash;
	const struct edge_symbol *symbol; /* the first row of this name that is asked for */
	const struct hook *hook;
};

/* Makes the tables, for the symbols of these layers; adds to them in a later run that asks for more. */
bool targets_ready(uint32_t layers);
/* NULL: no slot of this name is ours. Takes no lock. */
const struct target *target_of(const char *name);
/* Does a row look inside m at what m calls by this name? By any name: t is NULL. */
bool target_inside(struct module *m, const struct target *t);
/* Modules without slots to patch: libfathom, ld.so, the vdso. */
bool target_excluded(const struct module *m);
/* The forwarding client: what it does is done for the program, which made no such call. */
bool target_client(const struct module *m);
/* The C library: its own exec, dlopen and fork are what the hooks stand before. */
bool target_libc(const struct module *m);
/* An original that is left as it is: a wrapper of ours, a function that has a jump to one, or the PLT entry that is a
 * function's address. */
bool target_final(const char *name, const void *original);
/* The wrapper for an original as module m shall see it; NULL: leave it. */
void *target_choose(struct module *m, const struct target *t, void *original);
/* What a slot of this name held before it was pointed to `wrapper`; NULL: it is none of ours. */
void *target_before(const char *name, void *wrapper);
/* Copies whose original was unloaded serve the next original. */
void targets_free(void);
/* Notes symbols that ran out of copies. Without the lock. */
void targets_say(void);

#endif
