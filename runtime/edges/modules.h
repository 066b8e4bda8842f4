/* The modules loaded now, and the order in which ld.so looks symbols up for each of them.
 * Everything here runs under the loader's own lock (see modules_locked). */
#ifndef FATHOM_MODULES_H
#define FATHOM_MODULES_H

#include "edges/elf.h"

struct module {
	const struct link_map *map;
	struct elf elf;
	const char *file; /* last part of the path; "" for the program itself */
	bool at_start;    /* not by dlopen: looks up in the global scope only */
	bool self, loader, vdso;
	bool patched, relro_open;
	uint64_t api_asked, api_own; /* by API of the catalogue: is this its library? */
	bool unfinished;             /* a lazy slot whose symbol nobody defines yet */
	void *const *marker; /* a slot we patched and its wrapper: a new module at the same place */
	const void *marked;  /* does not hold it. NULL: none */
	bool rooted;         /* in some root's list */
	unsigned seen;       /* last refresh that met it */
	unsigned ticket;     /* who met it unpatched, with nothing unloaded since; 0: nobody */
};

/* Runs work(argument) while no module can be loaded or unloaded, with the list up to date. Under
 * the lock dlclose takes before it unmaps, and a gate of our own around it that fork waits for: a
 * child never inherits either from a thread it does not have. Nothing done here may take another
 * lock of the loader (dlsym, dlopen, dladdr). A signal handler that comes in on the same thread is
 * refused: false, nothing was run. */
bool modules_locked(void (*work)(void *), void *argument);
/* False in a forked child until dlopen or dlclose has returned there: what was loaded later than
 * the start may be half gone, and is not read. */
bool modules_known(void);
/* dlopen or dlclose has returned: no lost thread of a forked parent holds the loader's lock. */
void modules_loader_lives(void);
/* Around fork (pthread_atfork). */
void modules_before_fork(void);
void modules_after_fork(void);

unsigned long long modules_unloaded(void); /* how many modules ever went */
/* In the order of loading; the first is the program. */
size_t modules_count(void);
struct module *module_number(size_t i);
struct module *module_at(uintptr_t address); /* NULL: in none */
bool module_alive(uint64_t map, uintptr_t address);

/* dlopen returned this handle with these flags; `use` is called for each module it searches, all of
 * which are relocated. Of others in the list another thread may still be loading some. */
void modules_opened(const struct link_map *map, int flags, void (*use)(struct module *));

/* What ld.so would find for module m; *where gets the module that defines it. */
void *lookup_scope(const struct module *m, const struct elf_query *q, const struct module **where);
/* The same without the global scope, only before it (RTLD_DEEPBIND) or only after it. */
void *lookup_local(const struct module *m, bool before_global, const struct elf_query *q,
		   const struct module **where);
void *lookup_global(const struct elf_query *q, const struct module **where);
void *lookup_next(const struct module *m, const struct elf_query *q, const struct module **where);
/* The module that first asked for m; NULL: none (the program, a dlopened root). */
const struct module *module_loader(const struct module *m);
const struct module *module_named(const char *name);

#endif
