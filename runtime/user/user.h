/* What the program itself says (fathom.h), and what the user's own catalogs add. For runtime/edges. */
#ifndef FATHOM_USER_H
#define FATHOM_USER_H

#include "core/layers.h"
#include "edges/elf.h"

/* Fills the slots that fathom.h left in a module. */
void user_slots(const struct elf *m);
/* Is this the library that --probes built? Then its tables are taken in. Under the loader's lock. */
bool user_probes(const struct elf *m);
/* What dlsym answers for our own names, in languages that have no fathom.h; NULL: it is none. */
void *user_symbol(const char *name);
/* Names of handles mean nothing in the next run that the process is attached to. */
void user_forget(void);

#endif
