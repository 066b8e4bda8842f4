/* In which order ld.so looks symbols up for a module. Under the loader's lock, as modules.h. */
#ifndef FATHOM_SCOPES_H
#define FATHOM_SCOPES_H

#include "edges/modules.h"

/* dlopen returned this handle with these flags; `use` is called for each module it searches, all of
 * which are relocated. Of others in the list another thread may still be loading some. */
void scopes_opened(const struct link_map *map, int flags, void (*use)(struct module *));

/* What ld.so would find for module m; *where gets the module that defines it. */
void *lookup_scope(const struct module *m, const struct elf_query *q, const struct module **where);
/* The same without the global scope, only before it (RTLD_DEEPBIND) or only after it. */
void *lookup_local(const struct module *m, bool before_global, const struct elf_query *q,
		   const struct module **where);
void *lookup_global(const struct elf_query *q, const struct module **where);
void *lookup_next(const struct module *m, const struct elf_query *q, const struct module **where);
/* The module that first asked for m; NULL: none (the program, a dlopened root). */
const struct module *module_loader(const struct module *m);

/* For modules.c: the list is made for the first time; modules went, or came to an old place. */
void scopes_begin(bool late);
void scopes_drop(void);

#endif
