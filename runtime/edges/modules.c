/* The modules loaded now, kept from one look to the next, and the lock to look under. */
#include "edges/modules.h"

#include <string.h>
#include <sys/auxv.h>

#include "edges/gate.h"
#include "edges/hidden.h"
#include "edges/list.h"
#include "edges/scopes.h"

/* Written under the loader's lock only. */
static struct {
	struct vector list;   /* struct module *, in load order */
	struct vector blocks; /* struct module *, all ever made; those not in the list are free */
	unsigned round;       /* of refreshing */
	bool started;         /* the first refresh has been */
	bool late;            /* and was not at the program's start */
	unsigned long long loaded, unloaded; /* dlpi_adds and dlpi_subs of the last refresh */
} modules = {.round = 1};

void modules_begin_late(void)
{
	modules.late = !modules.started;
}

size_t modules_count(void)
{
	return modules.list.count;
}

unsigned long long modules_unloaded(void)
{
	return modules.unloaded;
}

unsigned long long modules_loaded(void)
{
	return modules.loaded;
}

bool module_listed(const struct module *m)
{
	return m->seen == modules.round;
}

struct module *module_number(size_t i)
{
	return *list_at(&modules.list, i);
}

struct module *module_at(uintptr_t address)
{
	for (size_t i = 0; i < modules.list.count; i++)
		if (elf_inside(&module_number(i)->elf, address))
			return module_number(i);
	return hidden_is_code(address) ? module_number(0) : NULL;
}

bool module_alive(uint64_t map, uintptr_t address)
{
	const struct module *m = module_at(address);

	return m && (uint64_t)(uintptr_t)m->map == map;
}

bool module_is_named(const struct module *m, const char *name)
{
	if (m->elf.soname && !strcmp(m->elf.soname, name))
		return true;
	return !strcmp(strchr(name, '/') ? m->map->l_name : m->file, name);
}

const struct module *module_named(const char *name)
{
	for (size_t i = 1; i < modules.list.count; i++)
		if (!module_number(i)->vdso && module_is_named(module_number(i), name))
			return module_number(i);
	return NULL;
}

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static struct module *new_module(void)
{
	for (size_t i = 0; i < modules.blocks.count; i++) {
		struct module *m = *list_at(&modules.blocks, i);

		if (m->seen + 1 < modules.round)
			return m;
	}
	struct module *block = pages_get(16 * sizeof(struct module));

	for (size_t i = 0; block && i < 16; i++)
		list_add(&modules.blocks, &block[i]);
	return block;
}

/* Both lists mostly agree in order, so the search goes on where it ended. */
static struct module *known_module(const struct link_map *map, size_t *cursor)
{
	for (size_t n = modules.blocks.count; n > 0; n--) {
		struct module *m = *list_at(&modules.blocks, (*cursor)++ % modules.blocks.count);

		if (m->map == map && m->seen + 1 == modules.round && m->elf.base == map->l_addr &&
		    m->elf.dynamic == map->l_ld)
			return m;
	}
	return NULL;
}

static void read_module(struct module *m, const struct dl_phdr_info *info)
{
	elf_read(&m->elf, info, m->map->l_ld);
	m->file = last_part(m->map->l_name);
	m->api_asked = m->api_named = 0;
}

/* Something was unloaded: a module met before may be another one, at the same place with the same
 * handle. It is the same if its slot still holds our wrapper. */
static void doubt_module(struct module *m, const struct dl_phdr_info *info)
{
	read_module(m, info);
	m->ticket = 0;
	if (m->marker && elf_protection(&m->elf, (uintptr_t)m->marker) && *m->marker == m->marked)
		return;
	m->marker = NULL;
	m->patched = m->unfinished = false;
}

/* Run as a command, ld.so has no AT_BASE; then its soname tells. */
static bool is_loader(const struct module *m)
{
	const char *name = m->elf.soname ? m->elf.soname : "";

	return m->elf.start == getauxval(AT_BASE) || !strncmp(name, "ld-", 3) ||
	       !strncmp(name, "ld64.so", 7);
}

static struct module *make_module(const struct link_map *map, const struct dl_phdr_info *info)
{
	struct module *m = new_module();

	if (!m)
		return NULL;
	memset(m, 0, sizeof(*m));
	m->map = map;
	m->at_start = !modules.started;
	read_module(m, info);
	m->self = elf_inside(&m->elf, (uintptr_t)&modules_locked);
	m->vdso = m->elf.start == getauxval(AT_SYSINFO_EHDR);
	m->loader = is_loader(m);
	return m;
}

struct walk {
	const struct link_map *next;
	size_t cursor;
	bool unloaded;
};

/* dl_iterate_phdr and link_map show the same chain; the pair has program headers and a handle. */
static int meet(struct dl_phdr_info *info, size_t size, void *argument)
{
	struct walk *walk = argument;
	const struct link_map *map = walk->next;
	struct module *m;

	(void)size;
	while (map && (map->l_addr != info->dlpi_addr || map->l_name != info->dlpi_name))
		map = map->l_next;
	if (!map)
		return 0;
	walk->next = map->l_next;
	m = known_module(map, &walk->cursor);
	if (!m)
		m = make_module(map, info);
	if (!m)
		return 1;
	if (walk->unloaded && !m->at_start)
		doubt_module(m, info);
	m->seen = modules.round;
	list_add(&modules.list, m);
	return 0;
}

static void refresh(const struct dl_phdr_info *now)
{
	struct walk walk = {.next = _r_debug.r_map, .unloaded = now->dlpi_subs != modules.unloaded};

	modules.round++;
	modules.list.count = 0;
	dl_iterate_phdr(meet, &walk);
	modules.unloaded = now->dlpi_subs;
	modules.loaded = now->dlpi_adds;
	if (!modules.started)
		scopes_begin(modules.late);
	modules.started = true;
	if (walk.unloaded)
		scopes_drop();
}

struct work {
	void (*run)(void *);
	void *argument;
};

static int with_lock(struct dl_phdr_info *info, size_t size, void *argument)
{
	const struct work *work = argument;

	(void)size;
	refresh(info);
	work->run(work->argument);
	return 1;
}

bool modules_locked(void (*run)(void *), void *argument)
{
	struct work work = {.run = run, .argument = argument};

	if (!gate_enter())
		return false;
	if (modules_known())
		dl_iterate_phdr(with_lock, &work);
	else
		run(argument);
	gate_leave();
	return true;
}
