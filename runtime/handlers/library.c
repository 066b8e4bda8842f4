/* Finds functions in the library that a wrapper's original lives in. libfathom.so's own calls of dlsym
 * are not intercepted. */
#include "handlers/library.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stddef.h>

#include "edges/edges.h"

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

void *library_symbol(void *library, const char *name)
{
	const int errno_before = errno;
	void *found = library ? dlsym(library, name) : NULL;

	if (!found)
		found = dlsym(RTLD_DEFAULT, name);
	dlerror(); /* what was not found is nobody's error */
	errno = errno_before;
	return found;
}
