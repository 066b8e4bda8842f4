/* The slots of a static program: what edges.c and targets.c are where there are modules. One copy of each library,
 * so the first wrapper of each symbol serves. */
#include "linked/linked.h"

#include <string.h>

#include "edges/edges.h"
#include "edges/hooks.h"
#include "wrappers.h"

extern const struct linked_slot __start_fathom_slots[], __stop_fathom_slots[];

struct originals originals;
/* By wrapper: tells handles of different libraries apart. MPI and MPI-IO are one library. */
static uint8_t library_of_wrapper[EDGES_COUNT];

/* The first row of this name; rows of APIs that look inside a library stand last. */
static const struct edge_symbol *find_symbol(const char *name)
{
	uint32_t low = 0, high = edge_symbols_count;

	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;

		if (strcmp(edge_symbols[middle].name, name) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low < edge_symbols_count && !strcmp(edge_symbols[low].name, name)
		       ? &edge_symbols[low]
		       : NULL;
}

/* A program calls MPI_ names. By the names that a row of an API inside has besides (PMPI_, H5FD_), the library
 * calls itself. */
static bool is_meant(const struct edge_symbol *s)
{
	return !edge_apis[s->api].inside || strncmp(s->name, "MPI_", 4) != 0;
}

/* Of rows of one name the last that is asked for: those of APIs that look inside stand behind others. */
static const struct edge_symbol *choose_symbol(const char *name, uint32_t layers)
{
	const struct edge_symbol *match = NULL, *s = find_symbol(name);

	for (; s && s < edge_symbols + edge_symbols_count && !strcmp(s->name, name); s++)
		if (s->layers & layers && is_meant(s))
			match = s;
	return match;
}

static const struct hook *find_in(const struct hook *hooks, uint32_t count, const char *name)
{
	for (uint32_t i = 0; i < count; i++)
		if (!strcmp(hooks[i].name, name))
			return &hooks[i];
	return NULL;
}

static const struct hook *find_hook(const char *name)
{
	const struct hook *match = find_in(process_hooks, process_hooks_count, name);

	match = match ? match : find_in(confined_hooks, confined_hooks_count, name);
	return match ? match : find_in(jump_hooks, jump_hooks_count, name);
}

/* The list forms of exec end in another one, which the program may not call by itself. */
static void seed_exec(const struct linked_slot *at)
{
	static const struct {
		const char *name;
		void **original;
	} ends[] = {
		{"execl", &originals.execv},
		{"execlp", &originals.execvp},
		{"execle", &originals.execve},
	};

	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++)
		if (!strcmp(at->name, ends[i].name) && !*ends[i].original)
			*ends[i].original = at->real;
}

static uint8_t library_of_api(const struct edge_api *api)
{
	return strncmp(api->layer_name, "mpi", 3) ? api->layer : 0;
}

static void point(const struct linked_slot *at, uint32_t layers)
{
	const struct edge_symbol *symbol = choose_symbol(at->name, layers);
	const struct hook *hook = find_hook(at->name);
	void *to = at->real;

	if (symbol) {
		edge_originals[symbol->wrapper] = at->real;
		library_of_wrapper[symbol->wrapper] = library_of_api(&edge_apis[symbol->api]);
		to = edge_wrappers[symbol->wrapper];
	}
	if (hook) {
		*hook->original[0] = to;
		to = hook->wrapper[0];
	}
	if (symbol || hook)
		*at->slot = to;
	seed_exec(at);
}

void slots_point(uint32_t layers)
{
	for (const struct linked_slot *at = __start_fathom_slots; at < __stop_fathom_slots; at++)
		point(at, layers);
}

uint64_t edge_library(uint32_t wrapper)
{
	return (uint64_t)(uintptr_t)&linked_program + library_of_wrapper[wrapper];
}

_Bool edges_in_libc(const void *address)
{
	(void)address; /* libc's vfork is the only one */
	return true;
}
