/* Which slots go to which wrappers: the catalogue's symbols against the modules' relocations. */
#include "edges/edges.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/auxv.h>

#include "core/call.h"
#include "core/raw.h"
#include "edges/hooks.h"
#include "edges/modules.h"
#include "edges/vector.h"

#if defined(__x86_64__)
enum { SLOT_PLT = R_X86_64_JUMP_SLOT, SLOT_GOT = R_X86_64_GLOB_DAT, SLOT_DATA = R_X86_64_64 };
#elif defined(__aarch64__)
enum { SLOT_PLT = R_AARCH64_JUMP_SLOT, SLOT_GOT = R_AARCH64_GLOB_DAT, SLOT_DATA = R_AARCH64_ABS64 };
#endif

/* What one name is pointed to: a generated wrapper, a hook, or the hook in front of the wrapper. */
struct target {
	const char *name;
	uint32_t hash;
	const struct edge_symbol *symbol;
	const struct hook *hook;
};

/* Written by the first edges_patch (tables) and under the loader's lock (the rest). */
static struct {
	struct target *targets; /* open addressing; size is a power of two */
	uint32_t mask;
	uint32_t layers;
	uint64_t *libraries; /* by wrapper: link map of the original's module, 0: free */
	uint32_t wrappers;
	long page;
	unsigned tickets;
	unsigned long long unloaded; /* modules gone when copies were last freed */
	bool ready;
	const char *full; /* a symbol that ran out of copies, for the note */
} edges;

static struct target *target_of(const char *name, uint32_t hash)
{
	uint32_t i = hash & edges.mask;

	while (edges.targets[i].name &&
	       (edges.targets[i].hash != hash || strcmp(edges.targets[i].name, name)))
		i = (i + 1) & edges.mask;
	return &edges.targets[i];
}

static struct target *add_target(const char *name)
{
	uint32_t hash = elf_gnu_hash(name);
	struct target *t = target_of(name, hash);

	t->name = name;
	t->hash = hash;
	return t;
}

static void add_hooks(const struct hook *hooks, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		add_target(hooks[i].name)->hook = &hooks[i];
}

static bool make_tables(void)
{
	uint32_t names = edge_symbols_count + loader_hooks_count + process_hooks_count, size = 64;

	for (uint32_t i = 0; i < edge_symbols_count; i++)
		if (edge_symbols[i].wrapper + edge_symbols[i].copies > edges.wrappers)
			edges.wrappers = edge_symbols[i].wrapper + edge_symbols[i].copies;
	while (size < 3 * names)
		size *= 2;
	edges.mask = size - 1;
	edges.page = (long)getauxval(AT_PAGESZ);
	edges.targets = pages_get(size * sizeof(struct target));
	edges.libraries = pages_get((edges.wrappers + 1) * sizeof(uint64_t));
	if (!edges.targets || !edges.libraries)
		return false;
	for (uint32_t i = 0; i < edge_symbols_count; i++)
		if (edges.layers >> edge_apis[edge_symbols[i].api].layer & 1)
			add_target(edge_symbols[i].name)->symbol = &edge_symbols[i];
	add_hooks(loader_hooks, loader_hooks_count);
	add_hooks(process_hooks, process_hooks_count);
	return true;
}

/* ---- which modules are asked ---- */

/* `*` is any run of characters, `?` one. */
static bool glob(const char *pattern, const char *text)
{
	const char *star = NULL, *back = text;

	while (*text) {
		if (*pattern == '*') {
			star = ++pattern;
			back = text;
		} else if (*pattern == '?' || *pattern == *text) {
			pattern++;
			text++;
		} else if (star) {
			pattern = star;
			text = ++back;
		} else {
			return false;
		}
	}
	while (*pattern == '*')
		pattern++;
	return !*pattern;
}

/* `!glob` leaves out; the last match counts. */
static bool is_own(const struct module *m, const char *const *own)
{
	bool is = false;

	for (; *own; own++) {
		bool out = **own == '!';

		if ((*m->file && glob(*own + out, m->file)) ||
		    (m->elf.soname && glob(*own + out, m->elf.soname)))
			is = !out;
	}
	return is;
}

/* Is m the library of this API itself? Asked of the globs once for each module. */
static bool owns(struct module *m, uint8_t api)
{
	uint64_t bit = UINT64_C(1) << (api & 63);

	if (!(m->api_asked & bit)) {
		m->api_asked |= bit;
		m->api_own |= is_own(m, edge_apis[api].own) ? bit : 0;
	}
	return m->api_own & bit;
}

/* Libraries that are the C library: their exec, dlopen and fork are what the hooks stand before. */
static bool is_libc(const struct module *m)
{
	static const char *const own[] = {"libc.so.*", "libpthread.so.*", "libdl.so.*", NULL};

	return is_own(m, own);
}

static bool is_excluded(const struct module *m)
{
	return m->self || m->loader || m->vdso || !m->elf.symbols || !m->elf.strings;
}

/* ---- copies ---- */

static bool is_ours(const void *address)
{
	const struct module *m = module_at((uintptr_t)address);

	return m && m->self;
}

static uint64_t library_of(const void *original)
{
	const struct module *m = module_at((uintptr_t)original);

	return m ? (uint64_t)(uintptr_t)m->map : 1; /* code made at run time: of no module */
}

static void *choose_copy(const struct edge_symbol *s, void *original)
{
	uint32_t free = UINT32_MAX;

	for (uint32_t i = s->wrapper; i < s->wrapper + s->copies; i++) {
		if (edges.libraries[i] && edge_originals[i] == original)
			return edge_wrappers[i];
		if (!edges.libraries[i] && free == UINT32_MAX)
			free = i;
	}
	if (free == UINT32_MAX) {
		edges.full = s->name;
		return NULL;
	}
	edge_originals[free] = original;
	edges.libraries[free] = library_of(original);
	atomic_thread_fence(memory_order_release);
	return edge_wrappers[free];
}

static void *choose_hook(const struct hook *h, void *original)
{
	for (uint8_t i = 0; i < h->copies; i++) {
		if (!*h->original[i]) {
			*h->original[i] = original;
			atomic_thread_fence(memory_order_release);
		}
		if (*h->original[i] == original)
			return h->wrapper[i];
	}
	edges.full = h->name;
	return NULL;
}

/* The wrapper for an original as module m shall see it; NULL: leave it. */
static void *choose(struct module *m, const struct target *t, void *original)
{
	void *to = original;

	if (t->symbol && !owns(m, t->symbol->api))
		to = choose_copy(t->symbol, original);
	if (to && t->hook && !is_libc(m))
		to = choose_hook(t->hook, to);
	return to == original ? NULL : to;
}

/* ---- slots ---- */

/* A lazy slot still points into its own module; ld.so would bind it at the first call. */
static void *bound_value(const struct module *m, const ElfW(Rela) * r, void *value)
{
	size_t index = ELF64_R_SYM(r->r_info);
	const struct module *where;
	struct elf_query q;

	if (ELF64_R_TYPE(r->r_info) != SLOT_PLT || !elf_inside(&m->elf, (uintptr_t)value))
		return value;
	q = elf_query(m->elf.strings + m->elf.symbols[index].st_name,
		      elf_wanted_version(&m->elf, index));
	q.plt = true;
	return lookup_scope(m, &q, &where);
}

/* A program that is not position-independent may own a function's address: its PLT entry, whose
 * slot is the one to patch. */
static bool is_canonical_plt(const char *name, const void *value)
{
	const struct module *program = module_number(0);
	struct elf_query q = elf_query(name, NULL);
	const ElfW(Sym) * s;

	if (!elf_inside(&program->elf, (uintptr_t)value))
		return false;
	s = elf_find(&program->elf, &q);
	return s && elf_undefined(s) && elf_address(&program->elf, s) == value;
}

/* Opens the module's RELRO pages once; a page of another read-only segment (text relocations)
 * each time. */
static void write_slot(struct module *m, void **slot, void *wrapper)
{
	uintptr_t at = (uintptr_t)slot, page = at & -(uintptr_t)edges.page;
	int protection = elf_protection(&m->elf, at);
	bool relro = at >= m->elf.relro && at < m->elf.relro_end;
	bool closed = !(protection & PROT_WRITE);

	if (relro && !m->relro_open &&
	    raw3(SYS_mprotect, (long)m->elf.relro, (long)(m->elf.relro_end - m->elf.relro),
		 PROT_READ | PROT_WRITE))
		return;
	m->relro_open |= relro;
	if (closed && raw3(SYS_mprotect, (long)page, edges.page, protection | PROT_WRITE))
		return;
	atomic_store_explicit((_Atomic(void *) *)slot, wrapper, memory_order_release);
	if (closed)
		raw3(SYS_mprotect, (long)page, edges.page, protection);
	m->marker = slot;
	m->marked = wrapper;
}

static void patch_slot(struct module *m, const ElfW(Rela) * r)
{
	unsigned type = ELF64_R_TYPE(r->r_info);
	const ElfW(Sym) *symbol = &m->elf.symbols[ELF64_R_SYM(r->r_info)];
	void **slot = (void **)(m->elf.base + r->r_offset);
	const struct target *t;
	void *original, *wrapper;
	const char *name;

	if ((type != SLOT_PLT && type != SLOT_GOT && type != SLOT_DATA) || !elf_undefined(symbol) ||
	    (type != SLOT_PLT && r->r_addend))
		return;
	name = m->elf.strings + symbol->st_name;
	t = target_of(name, elf_gnu_hash(name));
	if (!t->name)
		return;
	original = bound_value(m, r, *slot);
	m->unfinished |= !original && *slot;
	if (!original || is_ours(original) || is_canonical_plt(name, original))
		return;
	wrapper = choose(m, t, original);
	if (wrapper)
		write_slot(m, slot, wrapper);
}

static void patch_module(struct module *m)
{
	m->patched = true;
	m->unfinished = false;
	if (is_excluded(m))
		return;
	for (size_t i = 0; i < m->elf.data.count; i++)
		patch_slot(m, &m->elf.data.entry[i]);
	for (size_t i = 0; i < m->elf.plt.count; i++)
		patch_slot(m, &m->elf.plt.entry[i]);
	if (m->relro_open)
		raw3(SYS_mprotect, (long)m->elf.relro, (long)(m->elf.relro_end - m->elf.relro),
		     PROT_READ);
	m->relro_open = false;
}

/* A hook calls on even when nobody imports its own name (execl ends in execv). */
static void seed_hooks(const struct hook *hooks, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		const struct target *t = target_of(hooks[i].name, elf_gnu_hash(hooks[i].name));
		struct elf_query q = elf_query(hooks[i].name, NULL);
		const struct module *where;
		void *found;

		q.newest = true;
		q.plt = true;
		found = lookup_global(&q, &where);
		if (found && t->symbol)
			found = choose_copy(t->symbol, found);
		*hooks[i].original[0] = found;
	}
}

/* Copies whose original was unloaded serve the next original. */
static void free_copies(void)
{
	if (edges.unloaded == modules_unloaded())
		return;
	edges.unloaded = modules_unloaded();
	for (uint32_t i = 0; i < edges.wrappers; i++)
		if (edges.libraries[i] > 1 &&
		    !module_alive(edges.libraries[i], (uintptr_t)edge_originals[i]))
			edges.libraries[i] = 0;
}

static bool get_ready(void)
{
	if (edges.ready)
		return true;
	edges.ready = make_tables();
	if (edges.ready) {
		seed_hooks(loader_hooks, loader_hooks_count);
		seed_hooks(process_hooks, process_hooks_count);
	}
	return edges.ready;
}

static void patch_new(struct module *m)
{
	if (!m->patched)
		patch_module(m);
}

static void patch_all(void *argument)
{
	(void)argument;
	for (size_t i = 0; get_ready() && i < modules_count(); i++)
		patch_new(module_number(i));
}

/* Modules that came by a dlopen we did not see, or may be new at an old place, get the ticket of
 * the thread that will patch them; 0 when there are none. */
static void take_ticket(void *ticket)
{
	unsigned *taken = ticket;

	free_copies();
	*taken = 0;
	for (size_t i = 0; i < modules_count(); i++) {
		if (module_number(i)->patched)
			continue;
		if (!*taken)
			*taken = ++edges.tickets ? edges.tickets : ++edges.tickets;
		module_number(i)->ticket = *taken;
	}
}

static void use_ticket(void *ticket)
{
	free_copies();
	for (size_t i = 0; i < modules_count(); i++)
		if (module_number(i)->ticket == *(const unsigned *)ticket)
			patch_new(module_number(i));
}

/* Another thread may be relocating a module of the list this moment, and a slot written before that
 * is done would be spoilt. dladdr takes the lock that dlopen holds to its end: what was met before
 * is complete after it. Given up when other threads unload all the time; the next dlopen tries again. */
static void settle(void)
{
	for (int tries = 0; tries < 3 && modules_known(); tries++) {
		unsigned ticket = 0;
		Dl_info info;

		modules_locked(take_ticket, &ticket);
		if (!ticket)
			return;
		dladdr(&edges, &info);
		modules_locked(use_ticket, &ticket);
	}
}

static void say_full(void)
{
	const char *full = edges.full;

	if (full)
		note("edges: %s has more originals than wrapper copies; the calls of some modules "
		     "are "
		     "not recorded",
		     full);
	edges.full = NULL;
}

void edges_patch(uint32_t layers)
{
	int before = errno;

	edges.layers = layers;
	modules_locked(patch_all, NULL);
	say_full();
	errno = before;
}

struct opened {
	const struct link_map *map;
	int flags;
};

static void patch_opened(void *argument)
{
	const struct opened *opened = argument;

	free_copies();
	modules_opened(opened->map, opened->flags, patch_new);
	for (size_t i = 0; i < modules_count(); i++)
		if (module_number(i)->unfinished)
			patch_module(module_number(i)); /* what came may define it */
}

void edges_opened(void *handle, int flags)
{
	struct opened opened = {.map = handle, .flags = flags};
	int before = errno;

	modules_loader_lives();
	modules_locked(patch_opened, &opened);
	settle();
	say_full();
	errno = before;
}

static void after_close(void *argument)
{
	(void)argument;
	free_copies();
}

void edges_closed(void)
{
	int before = errno;

	modules_loader_lives();
	modules_locked(after_close, NULL);
	errno = before;
}

struct libc_question {
	const void *address;
	bool answer;
};

static void ask_libc(void *argument)
{
	struct libc_question *q = argument;
	const struct module *m = module_at((uintptr_t)q->address);

	q->answer = m && is_libc(m);
}

_Bool edges_in_libc(const void *address)
{
	struct libc_question q = {.address = address};

	modules_locked(ask_libc, &q);
	return q.answer;
}

uint64_t edge_library(uint32_t wrapper)
{
	return edges.libraries[wrapper];
}

/* ---- dlsym ---- */

_Bool edges_knows(const char *name)
{
	return edges.ready && target_of(name, elf_gnu_hash(name))->name;
}

struct answer {
	const struct edges_question *question;
	void *wrapper;
};

static void *find_for(const struct module *m, const struct edges_question *q)
{
	struct elf_query query = elf_query(q->name, q->version);
	const struct module *where;
	void *found;

	query.newest = !q->version;
	query.exact = q->version;
	if (q->handle == RTLD_NEXT) {
		const ElfW(Sym) *own = elf_find(&m->elf, &query);

		/* It defines the name itself: an interposer, which is told the truth. */
		return own && !elf_undefined(own) ? NULL : lookup_next(m, &query, &where);
	}
	if (q->handle != RTLD_DEFAULT)
		return q->found;
	found = lookup_local(m, true, &query, &where);
	if (!found)
		found = q->found;
	return found ? found : lookup_local(m, false, &query, &where);
}

static void answer(void *argument)
{
	struct answer *a = argument;
	const struct edges_question *q = a->question;
	struct module *m = module_at((uintptr_t)q->caller);
	void *found;

	free_copies();
	if (!m || is_excluded(m))
		return;
	found = find_for(m, q);
	/* Its own function is no edge of a module: it calls that directly as well. */
	if (found && !elf_inside(&m->elf, (uintptr_t)found) && !is_ours(found) &&
	    !is_canonical_plt(q->name, found))
		a->wrapper = choose(m, target_of(q->name, elf_gnu_hash(q->name)), found);
}

void *edges_answer(const struct edges_question *question)
{
	struct answer a = {.question = question};
	int before = errno;

	settle(); /* what a constructor loaded by itself */
	modules_locked(answer, &a);
	say_full();
	errno = before;
	return a.wrapper;
}
