/* The modules loaded now. Everything here runs under the loader's own lock (see modules_locked). */
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
	bool closed;                   /* pages of its slots could not be made writable */
	uint64_t api_asked, api_named; /* by API of the catalog: do its globs name this? */
	bool unfinished;               /* a lazy slot whose symbol nobody defines yet */
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
unsigned long long modules_loaded(void), modules_unloaded(void); /* how many ever came, went */
/* The first look is at a program that runs: some modules came by dlopen before. */
void modules_begin_late(void);
/* In the order of loading; the first is the program. */
size_t modules_count(void);
struct module *module_number(size_t i);
struct module *module_at(
	uintptr_t
		address); /* code of ours for the program's functions is the program's; NULL: in none */
bool module_alive(uint64_t map, uintptr_t address);

const struct module *module_named(const char *name);
bool module_is_named(const struct module *m, const char *name);
bool module_listed(const struct module *m); /* it was there at the last look */

#endif
