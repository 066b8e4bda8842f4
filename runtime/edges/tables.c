/* The tables of edges that are in force: the catalog's alone, or with those that a run brings behind them. */
#include <string.h>

#include "edges/edges.h"
#include "edges/vector.h"

enum { APIS = 64 }; /* bits in struct module */

struct edge_tables edge_tables;

/* Written once, before the first slot is. */
static struct {
	uint32_t first;
	void *const *wrapper;
	void **original;
} brought = {.first = UINT32_MAX};

void edge_tables_begin(void)
{
	uint32_t wrappers = 0;

	for (uint32_t i = 0; i < edge_symbols_count; i++)
		if (edge_symbols[i].wrapper + edge_symbols[i].copies > wrappers)
			wrappers = edge_symbols[i].wrapper + edge_symbols[i].copies;
	edge_tables = (struct edge_tables){edge_apis, edge_symbols, edge_apis_count,
					   edge_symbols_count, wrappers};
}

void *edge_wrapper(uint32_t wrapper)
{
	return wrapper < brought.first ? edge_wrappers[wrapper]
				       : brought.wrapper[wrapper - brought.first];
}

void **edge_original(uint32_t wrapper)
{
	return wrapper < brought.first ? &edge_originals[wrapper]
				       : &brought.original[wrapper - brought.first];
}

bool edge_tables_add(const struct edge_tables *more, void *const *wrappers, void **originals)
{
	const struct edge_tables old = edge_tables;
	const uint32_t apis_count = old.apis_count + more->apis_count;
	const uint32_t symbols_count = old.symbols_count + more->symbols_count;
	struct edge_api *apis = pages_get(apis_count * sizeof(*apis));
	struct edge_symbol *symbols = pages_get(symbols_count * sizeof(*symbols));

	if (!apis || !symbols || apis_count > APIS)
		return false;
	memcpy(apis, old.apis, old.apis_count * sizeof(*apis));
	memcpy(apis + old.apis_count, more->apis, more->apis_count * sizeof(*apis));
	memcpy(symbols, old.symbols, old.symbols_count * sizeof(*symbols));
	for (uint32_t i = 0; i < more->symbols_count; i++) {
		symbols[old.symbols_count + i] = more->symbols[i];
		symbols[old.symbols_count + i].wrapper += old.wrappers_count;
		symbols[old.symbols_count + i].api += (uint8_t)old.apis_count;
	}
	edge_tables = (struct edge_tables){apis, symbols, apis_count, symbols_count,
					   old.wrappers_count + more->wrappers_count};
	brought.wrapper = wrappers;
	brought.original = originals;
	brought.first = old.wrappers_count;
	return true;
}
