/* In which order ld.so looks symbols up for a module: global scope, handles it came with. */
#include "edges/scopes.h"

#include <dlfcn.h>

#include "edges/gate.h"
#include "edges/list.h"

/* One handle that dlopen returned, with the modules ld.so searches for it, breadth first. */
struct root {
	struct module *module;
	bool deep;                 /* RTLD_DEEPBIND: before the global scope */
	size_t first, count;       /* in members */
	unsigned long long loaded; /* dlpi_adds when these were found */
};

/* Written under the loader's lock only. */
static struct {
	struct vector global;  /* struct module *, in the order of the global scope */
	struct vector roots;   /* struct root, in the order of opening */
	struct vector members; /* struct module * */
} scopes;

static struct root *root_at(size_t i)
{
	return vector_at(&scopes.roots, sizeof(struct root), i);
}

static bool asks_for(const struct module *m, const struct module *other)
{
	for (const ElfW(Dyn) *d = m->elf.dynamic; d && d->d_tag != DT_NULL; d++)
		if (d->d_tag == DT_NEEDED && module_is_named(other, m->elf.strings + d->d_un.d_val))
			return true;
	return false;
}

/* Breadth first through DT_NEEDED, as ld.so builds a handle's search list. */
static void fill_root(struct root *r)
{
	r->first = scopes.members.count;
	r->loaded = modules_loaded();
	list_add(&scopes.members, r->module);
	for (size_t i = r->first; i < scopes.members.count; i++) {
		struct module *m = *list_at(&scopes.members, i);

		m->rooted = true;
		for (const ElfW(Dyn) *d = m->elf.dynamic; d && d->d_tag != DT_NULL; d++) {
			const struct module *needed;

			if (d->d_tag != DT_NEEDED)
				continue;
			needed = module_named(m->elf.strings + d->d_un.d_val);
			if (needed && !list_has(&scopes.members, r->first, needed))
				list_add(&scopes.members, (struct module *)needed);
		}
	}
	r->count = scopes.members.count - r->first;
}

static struct root *add_root(struct module *m, bool deep)
{
	struct root *r = vector_add(&scopes.roots, sizeof(struct root));

	if (!r)
		return NULL;
	r->module = m;
	r->deep = deep;
	fill_root(r);
	return r;
}

static struct root *find_root(const struct module *m)
{
	for (size_t i = 0; i < scopes.roots.count; i++)
		if (root_at(i)->module == m)
			return root_at(i);
	return NULL;
}

/* Modules that came in by a dlopen we did not see (libc's own, a constructor's): the first in
 * load order is the handle, what it needs follows. */
static void adopt_orphans(void)
{
	for (size_t i = 0; i < modules_count(); i++)
		if (!module_number(i)->at_start && !module_number(i)->rooted)
			add_root(module_number(i), false);
}

void scopes_opened(const struct link_map *map, int flags, void (*use)(struct module *))
{
	struct root *r = NULL, opened;

	for (size_t i = 0; i < modules_count() && !r; i++) {
		struct module *m = module_number(i);

		if (m->map != map || m->at_start)
			continue;
		r = find_root(m);
		if (!r)
			r = add_root(m, flags & RTLD_DEEPBIND);
		else if (r->loaded != modules_loaded())
			fill_root(r); /* what was met half loaded is complete now */
	}
	if (!r)
		return;
	opened = *r; /* using a module may add roots */
	for (size_t i = 0; i < opened.count; i++) {
		struct module *m = *list_at(&scopes.members, opened.first + i);

		if ((flags & RTLD_GLOBAL) && !list_has(&scopes.global, 0, m))
			list_add(&scopes.global, m);
		use(m);
	}
}

static bool has(const struct root *r, const struct module *m)
{
	for (size_t i = 0; i < r->count; i++)
		if (*list_at(&scopes.members, r->first + i) == m)
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
	return look_through(&scopes.global, 0, scopes.global.count, q, where);
}

void *lookup_local(const struct module *m, bool before_global, const struct elf_query *q,
		   const struct module **where)
{
	bool first = true;
	void *address = NULL;

	if (!m->at_start && !m->rooted && modules_known())
		adopt_orphans();
	for (size_t i = 0; !m->at_start && !address && i < scopes.roots.count; i++) {
		const struct root *r = root_at(i);

		if (!has(r, m))
			continue;
		if ((first && r->deep) == before_global)
			address = look_through(&scopes.members, r->first, r->count, q, where);
		first = false;
	}
	return address;
}

void *lookup_scope(const struct module *m, const struct elf_query *q, const struct module **where)
{
	void *address = lookup_local(m, true, q, where);

	if (!address)
		address = lookup_global(q, where);
	return address ? address : lookup_local(m, false, q, where);
}

void *lookup_next(const struct module *m, const struct elf_query *q, const struct module **where)
{
	const struct vector *v = &scopes.global;
	size_t first = 0, end = scopes.global.count;

	for (size_t i = 0; !m->at_start && i < scopes.roots.count; i++) {
		if (has(root_at(i), m)) {
			v = &scopes.members;
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
	for (size_t i = 0; i < modules_count() && module_number(i) != m; i++)
		if (module_number(i)->at_start == m->at_start && asks_for(module_number(i), m))
			return module_number(i);
	return NULL;
}

/* Place behind the last of the modules that m needs; at least `end`. */
static size_t behind_needed(const struct module *m, size_t end)
{
	for (const ElfW(Dyn) *d = m->elf.dynamic; d && d->d_tag != DT_NULL; d++)
		for (size_t i = end; d->d_tag == DT_NEEDED && i < modules_count(); i++)
			if (module_is_named(module_number(i), m->elf.strings + d->d_un.d_val))
				end = i + 1;
	return end;
}

/* What the program started with lies before all that came by dlopen: it is the program, what it preloads, and
 * what these need. Whether a later one came with RTLD_GLOBAL, nobody tells. */
static size_t behind_start(void)
{
	size_t end = 1;

	for (size_t i = 0; i < end && i < modules_count(); i++)
		end = behind_needed(module_number(i), end);
	return end;
}

void scopes_begin(bool late)
{
	const size_t end = late ? behind_start() : modules_count();

	for (size_t i = 0; i < modules_count(); i++) {
		module_number(i)->at_start = i < end;
		if (i < end && !module_number(i)->vdso)
			list_add(&scopes.global, module_number(i));
	}
}

void scopes_drop(void)
{
	size_t live = 0;

	for (size_t i = 0; i < scopes.global.count; i++)
		if (module_listed(*list_at(&scopes.global, i)))
			*list_at(&scopes.global, live++) = *list_at(&scopes.global, i);
	scopes.global.count = live;
	for (size_t i = 0; i < modules_count(); i++)
		module_number(i)->rooted = false;
	live = 0;
	scopes.members.count = 0;
	for (size_t i = 0; i < scopes.roots.count; i++)
		if (module_listed(root_at(i)->module))
			*root_at(live++) = *root_at(i);
	scopes.roots.count = live;
	for (size_t i = 0; i < live; i++)
		fill_root(root_at(i));
}
