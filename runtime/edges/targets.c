/* What a name is pointed to in a module: a copy of the generated wrapper for each original, a hook,
 * or nothing in the library that makes the function itself. */
#include "edges/targets.h"

#include <stdatomic.h>
#include <string.h>

#include "core/call.h"
#include "edges/hidden.h"
#include "edges/hooks.h"
#include "edges/scopes.h"
#include "edges/vector.h"
#include "user/user.h"

/* Written under the loader's lock. */
static struct {
	struct target *names; /* open addressing; size is a power of two */
	uint32_t mask;
	uint64_t *libraries; /* by wrapper: link map of the original's module, 0: free */
	void **replaced;     /* by wrapper: what the slots held */
	const struct module *self, *probes; /* probes: what --probes built; NULL: nothing */
	const struct module *client;        /* the forwarding client; NULL: none */
	/* What the client does instead of a function; NULL: nothing. */
	void *(*before)(const char *name, void *original);
	unsigned long long unloaded; /* modules gone when copies were last freed */
	uint32_t layers;             /* whose symbols are patched */
	bool ready;
	const char *full; /* a symbol that ran out of copies, for the note */
} targets;

static struct target *place_of(const char *name, uint32_t hash)
{
	uint32_t i = hash & targets.mask;

	while (targets.names[i].name &&
	       (targets.names[i].hash != hash || strcmp(targets.names[i].name, name)))
		i = (i + 1) & targets.mask;
	return &targets.names[i];
}

static struct target *add_target(const char *name)
{
	uint32_t hash = elf_gnu_hash(name);
	struct target *t = place_of(name, hash);

	t->hash = hash;
	atomic_thread_fence(memory_order_release);
	t->name = name;
	return t;
}

const struct target *target_of(const char *name)
{
	const struct target *t;

	if (!targets.ready)
		return NULL;
	t = place_of(name, elf_gnu_hash(name));
	return t->name ? t : NULL;
}

static void add_hooks(const struct hook *hooks, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		add_target(hooks[i].name)->hook = &hooks[i];
}

static bool is_asked(const struct edge_symbol *s)
{
	return targets.layers & s->layers;
}

/* Rows of one name follow each other: the first leads to all. */
static void add_symbol(const struct edge_symbol *s)
{
	struct target *t = add_target(s->name);

	if (!t->symbol || s < t->symbol)
		t->symbol = s;
}

static bool make_tables(void)
{
	uint32_t names = edge_tables.symbols_count + loader_hooks_count + process_hooks_count +
			 confined_hooks_count + jump_hooks_count,
		 size = 64;

	while (size < 3 * names)
		size *= 2;
	targets.mask = size - 1;
	targets.names = pages_get(size * sizeof(struct target));
	targets.libraries = pages_get((edge_tables.wrappers_count + 1) * sizeof(uint64_t));
	targets.replaced = pages_get((edge_tables.wrappers_count + 1) * sizeof(void *));
	return targets.names && targets.libraries && targets.replaced;
}

static void fill_tables(uint32_t layers)
{
	targets.layers = layers;
	for (uint32_t i = 0; i < edge_tables.symbols_count; i++)
		if (is_asked(&edge_tables.symbols[i]))
			add_symbol(&edge_tables.symbols[i]);
	add_hooks(loader_hooks, loader_hooks_count);
	add_hooks(process_hooks, process_hooks_count);
	add_hooks(confined_hooks, confined_hooks_count);
	add_hooks(jump_hooks, jump_hooks_count);
}

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
static bool is_named(const struct module *m, const char *const *globs)
{
	bool is = false;

	for (; *globs; globs++) {
		bool out = **globs == '!';

		if ((*m->file && glob(*globs + out, m->file)) ||
		    (m->elf.soname && glob(*globs + out, m->elf.soname)))
			is = !out;
	}
	return is;
}

/* Does this API name m? Asked of the globs once for each module. */
static bool names(struct module *m, uint8_t api)
{
	uint64_t bit = UINT64_C(1) << (api & 63);

	if (!(m->api_asked & bit)) {
		m->api_asked |= bit;
		m->api_named |= is_named(m, edge_tables.apis[api].modules) ? bit : 0;
	}
	return m->api_named & bit;
}

/* The row of this name that holds in m: of an API that looks inside it, else of one whose library m is
 * not. */
static const struct edge_symbol *symbol_in(struct module *m, const struct target *t)
{
	const struct edge_symbol *const end = edge_tables.symbols + edge_tables.symbols_count,
					*match = NULL;

	for (const struct edge_symbol *s = t->symbol; s && s < end && !strcmp(s->name, t->name);
	     s++)
		if (is_asked(s) && (edge_tables.apis[s->api].bindings ||
				    names(m, s->api) == edge_tables.apis[s->api].inside))
			match = s;
	return match;
}

/* Is m one of the modules that this API looks at from within? */
static bool looks_inside(struct module *m, uint8_t api)
{
	return (edge_tables.apis[api].inside || edge_tables.apis[api].bindings) && names(m, api);
}

bool target_inside(struct module *m, const struct target *t)
{
	const struct edge_symbol *s = t ? symbol_in(m, t) : NULL;

	if (t)
		return s && looks_inside(m, s->api);
	for (uint32_t i = 0; i < edge_tables.apis_count; i++)
		if (looks_inside(m, (uint8_t)i))
			return true;
	return false;
}

/* Libraries that are the C library: their exec, dlopen and fork are what the hooks stand before. */
bool target_libc(const struct module *m)
{
	static const char *const own[] = {"libc.so.*", "libpthread.so.*", "libdl.so.*", NULL};

	return is_named(m, own);
}

bool target_client(const struct module *m)
{
	static const char *const own[] = {"libfathom_fwd*.so*", NULL};

	return is_named(m, own);
}

bool target_excluded(const struct module *m)
{
	return m->self || m == targets.probes || m->loader || m->vdso || !m->elf.symbols ||
	       !m->elf.strings;
}

static bool is_ours(const void *address)
{
	return elf_inside(&targets.self->elf, (uintptr_t)address) ||
	       (targets.probes && elf_inside(&targets.probes->elf, (uintptr_t)address));
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

bool target_final(const char *name, const void *original)
{
	return is_ours(original) || hidden_is_function(original) ||
	       is_canonical_plt(name, original);
}

static uint64_t library_of(const void *original)
{
	const struct module *m = module_at((uintptr_t)original);

	return m ? (uint64_t)(uintptr_t)m->map : 1; /* code made at run time: of no module */
}

/* A variadic call cannot be handed on; its library's function with a va_list can be called instead. NULL: there is
 * none, as in another tool that wraps printf alone: its printf is left as it is. */
static void *with_va_list(const struct edge_symbol *s, const void *original)
{
	const struct module *m = module_at((uintptr_t)original);
	struct elf_query q = elf_query(s->va, NULL);
	const ElfW(Sym) * symbol;

	q.newest = true;
	symbol = m ? elf_find(&m->elf, &q) : NULL;
	return symbol && !elf_undefined(symbol) ? elf_address(&m->elf, symbol) : NULL;
}

/* The forwarding client stands before what it does otherwise; it calls the library's where it does not. */
static void *with_client(const struct edge_symbol *s, void *original)
{
	void *before = targets.before ? targets.before(s->name, original) : NULL;

	return before ? before : original;
}

static void *choose_copy(const struct edge_symbol *s, void *original)
{
	uint32_t free = UINT32_MAX;
	void *const replaced = original;

	if (s->va)
		original = with_va_list(s, original);
	if (!original)
		return NULL;
	const uint64_t library = library_of(original);

	original = with_client(s, original);
	for (uint32_t i = s->wrapper; i < s->wrapper + s->copies; i++) {
		if (targets.libraries[i] && *edge_original(i) == original)
			return edge_wrapper(i);
		if (!targets.libraries[i] && free == UINT32_MAX)
			free = i;
	}
	if (free == UINT32_MAX) {
		targets.full = s->name;
		return NULL;
	}
	*edge_original(free) = original;
	targets.libraries[free] = library;
	targets.replaced[free] = replaced;
	atomic_thread_fence(memory_order_release);
	return edge_wrapper(free);
}

/* Before glibc 2.34 libpthread has a fork, system and longjmp too, which jump to libc's. */
static bool jumps_to_libc(const void *original)
{
	const struct module *threads = module_named("libpthread.so.0");

	return threads && elf_inside(&threads->elf, (uintptr_t)original);
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
	if (jumps_to_libc(original))
		return h->wrapper[0];
	targets.full = h->name;
	return NULL;
}

/* The wrapper for an original as module m shall see it; NULL: leave it. */
void *target_choose(struct module *m, const struct target *t, void *original)
{
	const struct edge_symbol *symbol = symbol_in(m, t);
	void *to = symbol ? choose_copy(symbol, original) : original;

	if (to && t->hook && !target_libc(m))
		to = choose_hook(t->hook, to);
	return to == original ? NULL : to;
}

/* What the client stands before stays its own: it knows of one MPI, which is not unloaded. */
static bool is_client(const void *original)
{
	return targets.before && elf_inside(&targets.client->elf, (uintptr_t)original);
}

/* Copies whose original was unloaded serve the next original. */
void targets_free(void)
{
	if (targets.unloaded == modules_unloaded())
		return;
	targets.unloaded = modules_unloaded();
	for (uint32_t i = 0; i < edge_tables.wrappers_count; i++)
		if (targets.libraries[i] > 1 && !is_client(*edge_original(i)) &&
		    !module_alive(targets.libraries[i], (uintptr_t)*edge_original(i)))
			targets.libraries[i] = 0;
}

/* A hook calls on even when nobody imports its own name (execl ends in execv). */
static void seed_hooks(const struct hook *hooks, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		const struct target *t = target_of(hooks[i].name);
		struct elf_query q = elf_query(hooks[i].name, NULL);
		const struct module *where;
		void *address;

		q.newest = true;
		q.plt = true;
		address = lookup_global(&q, &where);
		if (address && t->symbol)
			address = choose_copy(t->symbol, address);
		*hooks[i].original[0] = address;
	}
}

static void find_before(const struct module *m)
{
	struct elf_query q = elf_query("fathom_fwd_before", NULL);
	const ElfW(Sym) *symbol = elf_find(&m->elf, &q);
	void *address = symbol && !elf_undefined(symbol) ? elf_address(&m->elf, symbol) : NULL;

	memcpy(&targets.before, &address, sizeof(address));
	targets.client = m;
}

static void *before_hook(const struct hook *h, void *wrapper)
{
	for (uint8_t i = 0; h && i < h->copies; i++)
		if (h->wrapper[i] == wrapper)
			return *h->original[i];
	return wrapper;
}

void *target_before(const char *name, void *wrapper)
{
	const struct target *t = is_ours(wrapper) ? target_of(name) : NULL;
	const struct edge_symbol *const end = edge_tables.symbols + edge_tables.symbols_count;
	void *behind = t ? before_hook(t->hook, wrapper) : wrapper;

	if (t && !is_ours(behind))
		return behind;
	for (const struct edge_symbol *s = t ? t->symbol : NULL;
	     s && s < end && !strcmp(s->name, name); s++)
		for (uint32_t i = s->wrapper; i < s->wrapper + s->copies; i++)
			if (edge_wrapper(i) == behind)
				return targets.replaced[i];
	return NULL;
}

static void find_own(void)
{
	edge_tables_begin();
	for (size_t i = 0; i < modules_count(); i++) {
		struct module *m = module_number(i);

		if (m->self)
			targets.self = m;
		else if (!targets.probes && user_probes(&m->elf))
			targets.probes = m;
		else if (!targets.before && target_client(m))
			find_before(m);
	}
}

bool targets_ready(uint32_t layers)
{
	if (targets.ready && targets.layers == layers)
		return true;
	if (!targets.ready) {
		find_own();
		targets.ready = targets.self && make_tables();
	}
	if (targets.ready) {
		fill_tables(layers);
		seed_hooks(loader_hooks, loader_hooks_count);
		seed_hooks(process_hooks, process_hooks_count);
		seed_hooks(confined_hooks, confined_hooks_count);
		seed_hooks(jump_hooks, jump_hooks_count);
	}
	return targets.ready;
}

void targets_say(void)
{
	const char *full = targets.full;

	if (full)
		note("edges: %s has more originals than copies; some modules' calls are not "
		     "recorded",
		     full);
	targets.full = NULL;
}

uint64_t edge_library(uint32_t wrapper)
{
	return targets.libraries[wrapper];
}
