/* What handlers ask a library for, in a static program: a fixed list, and what of it was linked. */
#include <string.h>

#include "edges/edges.h"
#include "handlers/library.h"
#include "linked/linked.h"

static void *find(const char *name)
{
	for (uint32_t i = 0; i < linked_names_count; i++)
		if (!strcmp(linked_names[i].name, name))
			return linked_names[i].address;
	return NULL;
}

void *library_of(uint32_t wrapper)
{
	(void)wrapper;
	return &linked_program;
}

void *library_function(void *library, const char *name)
{
	(void)library;
	return find(name);
}

void *library_variable(void *library, const char *name)
{
	return library_function(library, name);
}

uint64_t library_owner(const void *function, uint64_t otherwise)
{
	(void)function;
	return otherwise;
}

bool edge_defined(uint64_t library, struct edge_name *names, size_t count, bool *for_good)
{
	(void)library;
	for (size_t i = 0; i < count; i++)
		names[i].address = find(names[i].name);
	*for_good = true;
	return true;
}
