/* Finds functions in the library that a wrapper's original lives in. libfathom.so's own calls of dlsym
 * are not intercepted. */
#include "handlers/library.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>

#include "core/process.h"
#include "edges/edges.h"

#define NO_LIBRARY ((void *)-2l) /* no handle; NULL is RTLD_DEFAULT */

void *library_of(uint32_t wrapper)
{
	const struct link_map *map = (const struct link_map *)(uintptr_t)edge_library(wrapper);
	const int errno_before = errno;
	void *library = NULL;

	if (map)
		library = dlopen(map->l_name[0] ? map->l_name : NULL, RTLD_LAZY | RTLD_NOLOAD);
	errno = errno_before;
	return library;
}

static void *either(void *first, void *second, const char *name)
{
	const int errno_before = errno;
	void *symbol = first == NO_LIBRARY ? NULL : dlsym(first, name);

	if (!symbol && second != NO_LIBRARY)
		symbol = dlsym(second, name);
	if (!symbol)
		symbol = edge_hidden(name);
	dlerror(); /* what was not found is nobody's error */
	errno = errno_before;
	return symbol;
}

void *library_function(void *library, const char *name)
{
	return either(library ? library : NO_LIBRARY, RTLD_DEFAULT, name);
}

void *library_variable(void *library, const char *name)
{
	return either(RTLD_DEFAULT, library ? library : NO_LIBRARY, name);
}

uint64_t library_owner(const void *function, uint64_t otherwise)
{
	void *begin;
	const struct link_map *map = process_module(function, &begin);

	return map ? (uint64_t)(uintptr_t)map : otherwise;
}
