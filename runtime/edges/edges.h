/* Module edges: which imported symbols of which modules are pointed to which wrappers.
 * Tables are generated from the catalog (build/generated/tables.c). */
#ifndef FATHOM_EDGES_H
#define FATHOM_EDGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One API of the catalog. Most look at all modules but the library itself; one that looks inside
 * has its symbols patched in these modules only. A library that holds bindings of other languages, which
 * call its C functions through its own slots, is looked at as any module, those slots too. */
struct edge_api {
	const char *layer_name;
	uint8_t layer;
	bool inside;
	const char *const *modules; /* name globs, NULL-terminated */
	bool bindings;
};

/* One symbol: `copies` wrappers from edge_wrappers[wrapper] on, one for each different original
 * that lives in the process (private copies of HDF5, a preload tool seen by some modules only). */
struct edge_symbol {
	const char *name;
	uint32_t wrapper;
	uint8_t copies;
	uint8_t api;
	uint32_t layers; /* it is pointed to us when one of these is patched: bit mask */
	const char *va;  /* variadic: the wrapper calls this function of the original's library */
};

extern const struct edge_api edge_apis[];
extern const uint32_t edge_apis_count;
extern const struct edge_symbol edge_symbols[]; /* by name (strcmp), APIs that look inside last */
extern const uint32_t edge_symbols_count;
extern void *const edge_wrappers[];
/* [i] is what wrapper i calls; written by edges.c before wrapper i is reachable. */
extern void *edge_originals[] __attribute__((visibility("hidden")));

/* The catalog's tables and, behind them, those of a library that --probes built (user/probe.h). A wrapper's
 * and an API's number is their place in both together. */
struct edge_tables {
	const struct edge_api *apis;
	const struct edge_symbol *symbols;
	uint32_t apis_count, symbols_count, wrappers_count;
};
extern struct edge_tables edge_tables;
void *edge_wrapper(uint32_t wrapper);
void **edge_original(uint32_t wrapper);
void edge_tables_begin(void);
/* Once, under the loader's lock; false: there is no room. */
bool edge_tables_add(const struct edge_tables *brought, void *const *wrappers, void **originals);

/* Points the slots of all modules loaded now to the wrappers; called by the constructor, for the
 * symbols of layers in `layers` (bit mask). Never fails: what could not be patched is noted. */
void edges_patch(uint32_t layers);

/* The same in a program that runs: once more a moment later, since a thread that was just binding a lazy slot
 * may have written over ours. */
void edges_patch_live(uint32_t layers);
/* Points them back to what they held. Threads that are inside a wrapper return through it. */
void edges_unpatch(void);

/* Tells the package of Python that a module is of, which was loaded just now; those of all modules that are loaded. */
void package_loaded(const char *module);
void packages_loaded_before(void);

/* The library (link map address) that the original of wrapper i lives in: keys handles of private
 * copies. */
uint64_t edge_library(uint32_t wrapper);

/* What a library itself defines by these names, NULL what it does not; `for_good`: it came with the program, so it
 * is never unloaded. False: no such library is loaded. */
struct edge_name {
	const char *name;
	void *address;
};
bool edge_defined(uint64_t library, struct edge_name *names, size_t count, bool *for_good);

/* A function or variable of a library that was linked into the program, and is in no table of ld.so's. NULL: none. */
void *edge_hidden(const char *name);

/* Where a Fortran entry was called from: set by the entry's trampoline, valid while the frame it
 * was read from still holds the address. `slot` is NULL where return addresses are not on the stack. */
struct entry_site {
	const void *const *slot; /* stack slot that holds the return address */
	const void *address;
	const char *name;
};
extern __thread struct entry_site entry_site
	__attribute__((tls_model("initial-exec"), visibility("hidden")));

#endif
