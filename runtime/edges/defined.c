/* What one library defines, read from its own tables: nothing else is searched, and no lock of ld.so's own is taken
 * that dlsym would. */
#include <errno.h>

#include "edges/edges.h"
#include "edges/hidden.h"
#include "edges/modules.h"

struct request {
	uint64_t library;
	struct edge_name *name;
	size_t count;
	bool known, for_good;
};

static const struct module *module_of(uint64_t library)
{
	for (size_t i = 0; i < modules_count(); i++)
		if ((uint64_t)(uintptr_t)module_number(i)->map == library)
			return module_number(i);
	return NULL;
}

static void *find(const struct elf *library, const char *name)
{
	struct elf_query q = elf_query(name, NULL);
	const ElfW(Sym) * symbol;

	q.newest = true;
	symbol = elf_find(library, &q);
	return symbol && !elf_undefined(symbol) ? elf_address(library, symbol) : NULL;
}

static void answer(void *argument)
{
	struct request *r = argument;
	const struct module *m = module_of(r->library);

	if (!m)
		return;
	r->known = true;
	r->for_good = m->at_start;
	for (size_t i = 0; i < r->count; i++) {
		r->name[i].address = find(&m->elf, r->name[i].name);
		if (!r->name[i].address && m == module_number(0))
			r->name[i].address = hidden_find(r->name[i].name);
	}
}

bool edge_defined(uint64_t library, struct edge_name *names, size_t count, bool *for_good)
{
	struct request r = {.library = library, .name = names, .count = count};
	const int errno_before = errno;

	for (size_t i = 0; i < count; i++)
		names[i].address = NULL;
	modules_locked(answer, &r);
	errno = errno_before;
	*for_good = r.for_good;
	return r.known;
}
