/* The modules loaded now and their lookup scopes: what link_map shows, what dlopen's flags add. */
#include "edges/modules.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/auxv.h>

#include "edges/vector.h"

/* One handle that dlopen returned, with the modules ld.so searches for it, breadth first. */
struct root {
	struct module *module;
	bool deep;                 /* RTLD_DEEPBIND: before the global scope */
	size_t first, count;       /* in members */
	unsigned long long loaded; /* dlpi_adds when these were found */
};

/* Reads as zeros in the child of every fork, the bare ones as well. */
struct gate {
	_Atomic int owner;         /* thread id of who is inside */
	_Atomic bool loader_lives; /* no: forked, and a lost thread may hold the loader's lock */
};

/* Written under the loader's lock only. */
static struct {
	struct vector list;    /* struct module *, in load order */
	struct vector blocks;  /* struct module *, all ever made; those not in the list are free */
	struct vector global;  /* struct module *, in the order of the global scope */
	struct vector roots;   /* struct root, in the order of opening */
	struct vector members; /* struct module * */
	unsigned round;        /* of refreshing */
	bool started;          /* the first refresh has been */
	struct gate *gate;     /* on a page of its own */
	bool fork_inside;      /* fork by a signal handler of the thread inside */
	unsigned long long loaded, unloaded; /* dlpi_adds and dlpi_subs of the last refresh */
} modules = {.round = 1};

static struct module **list_at(const struct vector *v, size_t i)
{
	return vector_at(v, sizeof(struct module *), i);
}

static bool list_add(struct vector *v, struct module *m)
{
	struct module **to = vector_add(v, sizeof(struct module *));

	if (to)
		*to = m;
	return to;
}

static bool list_has(const struct vector *v, size_t first, const struct module *m)
{
	for (size_t i = first; i < v->count; i++)
		if (*list_at(v, i) == m)
			return true;
	return false;
}

static struct root *root_at(size_t i)
{
	return vector_at(&modules.roots, sizeof(struct root), i);
}

size_t modules_count(void)
{
	return modules.list.count;
}

bool modules_known(void)
{
	return modules.gate && modules.gate->loader_lives;
}

unsigned long long modules_unloaded(void)
{
	return modules.unloaded;
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
	return NULL;
}

bool module_alive(uint64_t map, uintptr_t address)
{
	const struct module *m = module_at(address);

	return m && (uint64_t)(uintptr_t)m->map == map;
}

static bool is_named(const struct module *m, const char *name)
{
	if (m->elf.soname && !strcmp(m->elf.soname, name))
		return true;
	return !strcmp(strchr(name, '/') ? m->map->l_name : m->file, name);
}

const struct module *module_named(const char *name)
{
	for (size_t i = 1; i < modules.list.count; i++)
		if (!module_number(i)->vdso && is_named(module_number(i), name))
			return module_number(i);
	return NULL;
}

static bool asks_for(const struct module *m, const struct module *other)
{
	for (const ElfW(Dyn) *d = m->elf.dynamic; d && d->d_tag != DT_NULL; d++)
		if (d->d_tag == DT_NEEDED && is_named(other, m->elf.strings + d->d_un.d_val))
			return true;
	return false;
}

/* ---- scopes ---- */

/* Breadth first through DT_NEEDED, as ld.so builds a handle's search list. */
static void fill_root(struct root *r)
{
	r->first = modules.members.count;
	r->loaded = modules.loaded;
	list_add(&modules.members, r->module);
	for (size_t i = r->first; i < modules.members.count; i++) {
		struct module *m = *list_at(&modules.members, i);

		m->rooted = true;
		for (const ElfW(Dyn) *d = m->elf.dynamic; d && d->d_tag != DT_NULL; d++) {
			const struct module *needed;

			if (d->d_tag != DT_NEEDED)
				continue;
			needed = module_named(m->elf.strings + d->d_un.d_val);
			if (needed && !list_has(&modules.members, r->first, needed))
				list_add(&modules.members, (struct module *)needed);
		}
	}
	r->count = modules.members.count - r->first;
}

static struct root *add_root(struct module *m, bool deep)
{
	struct root *r = vector_add(&modules.roots, sizeof(struct root));

	if (!r)
		return NULL;
	r->module = m;
	r->deep = deep;
	fill_root(r);
	return r;
}

static struct root *find_root(const struct module *m)
{
	for (size_t i = 0; i < modules.roots.count; i++)
		if (root_at(i)->module == m)
			return root_at(i);
	return NULL;
}

/* Modules that came in by a dlopen we did not see (libc's own, a constructor's): the first in
 * load order is the handle, what it needs follows. */
static void adopt_orphans(void)
{
	for (size_t i = 0; i < modules.list.count; i++)
		if (!module_number(i)->at_start && !module_number(i)->rooted)
			add_root(module_number(i), false);
}

void modules_opened(const struct link_map *map, int flags, void (*use)(struct module *))
{
	struct root *r = NULL;

	for (size_t i = 0; i < modules.list.count && !r; i++) {
		struct module *m = module_number(i);

		if (m->map != map || m->at_start)
			continue;
		r = find_root(m);
		if (!r)
			r = add_root(m, flags & RTLD_DEEPBIND);
		else if (r->loaded != modules.loaded)
			fill_root(r); /* what was met half loaded is complete now */
	}
	for (size_t i = 0; r && i < r->count; i++) {
		struct module *m = *list_at(&modules.members, r->first + i);

		if ((flags & RTLD_GLOBAL) && !list_has(&modules.global, 0, m))
			list_add(&modules.global, m);
		use(m);
	}
}

static bool has(const struct root *r, const struct module *m)
{
	for (size_t i = 0; i < r->count; i++)
		if (*list_at(&modules.members, r->first + i) == m)
			return true;
	return false;
}

static void *look_through(const struct vector *v, size_t first, size_t count,
			  const struct elf_query *q, const struct module **where)
{
	for (size_t i = 0; i < count; i++) {
		const struct module *m = *list_at(v, first + i);
		const ElfW(Sym) *s = NULL;

		if (m->at_start || modules_known())
			s = elf_find(&m->elf, q);

		if (s) {
			*where = m;
			return elf_address(&m->elf, s);
		}
	}
	return NULL;
}

void *lookup_global(const struct elf_query *q, const struct module **where)
{
	return look_through(&modules.global, 0, modules.global.count, q, where);
}

void *lookup_local(const struct module *m, bool before_global, const struct elf_query *q,
		   const struct module **where)
{
	bool first = true;
	void *found = NULL;

	if (!m->at_start && !m->rooted && modules_known())
		adopt_orphans();
	for (size_t i = 0; !m->at_start && !found && i < modules.roots.count; i++) {
		const struct root *r = root_at(i);

		if (!has(r, m))
			continue;
		if ((first && r->deep) == before_global)
			found = look_through(&modules.members, r->first, r->count, q, where);
		first = false;
	}
	return found;
}

void *lookup_scope(const struct module *m, const struct elf_query *q, const struct module **where)
{
	void *found = lookup_local(m, true, q, where);

	if (!found)
		found = lookup_global(q, where);
	return found ? found : lookup_local(m, false, q, where);
}

void *lookup_next(const struct module *m, const struct elf_query *q, const struct module **where)
{
	const struct vector *v = &modules.global;
	size_t first = 0, end = modules.global.count;

	for (size_t i = 0; !m->at_start && i < modules.roots.count; i++) {
		if (has(root_at(i), m)) {
			v = &modules.members;
			first = root_at(i)->first;
			end = first + root_at(i)->count;
			break;
		}
	}
	while (first < end && *list_at(v, first++) != m)
		;
	return look_through(v, first, end - first, q, where);
}

const struct module *module_loader(const struct module *m)
{
	if (find_root(m))
		return NULL;
	for (size_t i = 0; i < modules.list.count && module_number(i) != m; i++)
		if (module_number(i)->at_start == m->at_start && asks_for(module_number(i), m))
			return module_number(i);
	return NULL;
}

/* ---- the list ---- */

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
	m->api_asked = m->api_own = 0;
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
	m->loader = elf_inside(&m->elf, (uintptr_t)&_r_debug);
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

static void drop_unseen(void)
{
	size_t kept = 0;

	for (size_t i = 0; i < modules.global.count; i++)
		if ((*list_at(&modules.global, i))->seen == modules.round)
			*list_at(&modules.global, kept++) = *list_at(&modules.global, i);
	modules.global.count = kept;
	kept = 0;
	modules.members.count = 0;
	for (size_t i = 0; i < modules.roots.count; i++)
		if (root_at(i)->module->seen == modules.round)
			*root_at(kept++) = *root_at(i);
	modules.roots.count = kept;
	for (size_t i = 0; i < kept; i++)
		fill_root(root_at(i));
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
		for (size_t i = 0; i < modules.list.count; i++)
			if (!module_number(i)->vdso)
				list_add(&modules.global, module_number(i));
	modules.started = true;
	if (walk.unloaded)
		drop_unseen();
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

/* ---- the gate ---- */

static int own_tid(void)
{
	return (int)raw3(SYS_gettid, 0, 0, 0);
}

static struct gate *gate(void)
{
	if (!modules.gate) {
		modules.gate = pages_get(4096);
		if (modules.gate) {
			raw3(SYS_madvise, (long)modules.gate, 4096, MADV_WIPEONFORK);
			modules.gate->loader_lives = true;
		}
	}
	return modules.gate;
}

static bool gate_enter(struct gate *g)
{
	int tid = own_tid(), free = 0;

	while (!atomic_compare_exchange_weak(&g->owner, &free, tid)) {
		if (free == tid)
			return false;
		free = 0;
		raw3(SYS_sched_yield, 0, 0, 0);
	}
	return true;
}

void modules_before_fork(void)
{
	if (modules.gate && !gate_enter(modules.gate))
		modules.fork_inside = true;
}

void modules_after_fork(void)
{
	if (modules.gate && !modules.fork_inside)
		atomic_store(&modules.gate->owner, 0);
	modules.fork_inside = false;
}

void modules_loader_lives(void)
{
	if (modules.gate)
		modules.gate->loader_lives = true;
}

bool modules_locked(void (*run)(void *), void *argument)
{
	struct work work = {.run = run, .argument = argument};
	struct gate *g = gate();

	if (!g || !gate_enter(g))
		return false;
	if (modules_known())
		dl_iterate_phdr(with_lock, &work);
	else
		run(argument);
	atomic_store(&g->owner, 0);
	return true;
}
