/* Call sites: return address -> (module, offset), numbered once per process; in Python code by its line, too. */
#include <elf.h>
#include <link.h>
#include <fcntl.h>
#include <string.h>

#include "core/base.h"
#include "core/call.h"
#include "core/config.h"
#include "core/hash.h"
#include "core/layers.h"
#include "core/forget.h"
#include "core/sites.h"
#include "core/state.h"
#include "core/stream.h"
#include "core/thread.h"
#include "core/levels.h"
#include "core/process.h"
#include "core/python.h"
#include "core/raw.h"
#include "core/segments.h"
#include "core/unwind.h"
#include "edges/edges.h"

enum { SITE_BITS = 16, SITE_TABLE = 1 << SITE_BITS, MODULES = 512 };

struct site_table {
	struct {
		_Atomic uint64_t key;
		_Atomic uint32_t site; /* 0: not yet */
	} site[SITE_TABLE];
	struct {
		const struct link_map *map;
		uintptr_t base;
	} module[MODULES];
	_Atomic uint32_t modules;
};

/* The build id of a loaded module, from its program headers in memory. */
static size_t build_id(const char *begin, const char **id)
{
	const struct segments s = segments_of(begin);

	for (int i = 0; i < s.n; i++) {
		const char *at = s.base + s.at[i].p_vaddr, *end = at + s.at[i].p_memsz;

		while (s.at[i].p_type == PT_NOTE && at + sizeof(ElfW(Nhdr)) <= end) {
			const ElfW(Nhdr) *n = (const void *)at;

			if (n->n_type == NT_GNU_BUILD_ID && n->n_namesz == 4 &&
			    !memcmp(n + 1, "GNU", 4)) {
				*id = (const char *)(n + 1) + 4;
				return n->n_descsz;
			}
			at += sizeof(*n) + ((n->n_namesz + 3) & ~3u) + ((n->n_descsz + 3) & ~3u);
		}
	}
	return 0;
}

static uint32_t define_module(struct thread *t, const struct link_map *map, const char *begin)
{
	struct site_table *table = process->site_table;
	const char *id = "";
	size_t id_bytes = build_id(begin, &id);
	uint32_t number = atomic_fetch_add(&table->modules, 1);
	struct record r;

	if (number >= MODULES) {
		atomic_store(&table->modules, MODULES);
		return 0;
	}
	table->module[number].map = map;
	table->module[number].base = map->l_addr;
	r = record_begin(t);
	record_varint(&r, number + 1);
	record_varint(&r, map->l_addr);
	record_text(&r, id, id_bytes);
	record_string(&r, map->l_name[0] ? map->l_name : "/proc/self/exe");
	record_end(&r, RECORD_MODULE);
	return number + 1;
}

static uint32_t module_of(struct thread *t, const struct link_map *map, const char *begin)
{
	struct site_table *table = process->site_table;

	for (uint32_t i = 0; i < table->modules; i++)
		if (table->module[i].map == map && table->module[i].base == map->l_addr)
			return i + 1;
	return define_module(t, map, begin);
}

/* A place that a call is made from. */
struct place {
	const void *address;            /* NULL: of a caller in Python */
	const char *entry;              /* of Fortran; NULL: none */
	const struct python_line *line; /* NULL: not in Python */
	uint32_t caller; /* the place that its function was called from; 0: unknown */
};

static uint64_t mix(uint64_t key, uint64_t value)
{
	return (key * HASH_FACTOR) ^ value;
}

/* Of an address alone it is the address; of others the highest bit is set. */
static uint64_t key_of(const struct place *place)
{
	uint64_t key = (uintptr_t)place->address;

	if (place->caller)
		key = mix(key, place->caller) | 1ull << 63;
	return place->line ? mix(key, place->line->key) | 1ull << 63 : key;
}

static void put_line(struct record *r, const struct python_line *line)
{
	char *text = r->t->path;

	record_text(r, text, line ? python_file(line, text, PATH_BYTES) : 0);
	record_varint(r, line ? python_number(line) : 0);
	record_text(r, text, line ? python_function(line, text, PATH_BYTES) : 0);
}

static uint32_t define_site(struct thread *t, const struct place *place)
{
	void *begin = NULL;
	const struct link_map *map = place->address ? process_module(place->address, &begin) : NULL;
	uint32_t site = atomic_fetch_add(&process->sites, 1) + 1, module;
	struct record r;

	module = map ? module_of(t, map, begin) : 0;
	r = record_begin(t);
	record_varint(&r, site);
	record_varint(&r, module);
	record_varint(&r, (uintptr_t)place->address - (map ? map->l_addr : 0));
	record_string(&r, place->entry);
	put_line(&r, place->line);
	record_varint(&r, place->caller);
	record_end(&r, RECORD_SITE);
	return site;
}

static struct site_table *site_table(void)
{
	uint64_t mask;

	if (likely(process->site_table))
		return process->site_table;
	mask = process_lock();
	if (!process->site_table)
		process->site_table = memory_get(sizeof(struct site_table), true);
	process_unlock(mask);
	return process->site_table;
}

/* The process's table: bounded; a site that finds no room is unknown (0). Two threads that find the same place at
 * once may define it twice. */
static uint32_t look_up(struct thread *t, const struct place *place)
{
	const uint64_t key = key_of(place);
	struct site_table *table = site_table();
	uint32_t slot = (uint32_t)(key * HASH_FACTOR >> (64 - SITE_BITS));

	for (uint32_t probe = 0; table && probe < 64; probe++, slot = (slot + 1) % SITE_TABLE) {
		uint64_t there = 0;
		uint32_t site;

		if (!atomic_compare_exchange_strong(&table->site[slot].key, &there, key) &&
		    there != key)
			continue;
		site = atomic_load(&table->site[slot].site);
		if (!site) {
			site = define_site(t, place);
			atomic_store(&table->site[slot].site, site);
		}
		return site;
	}
	return 0;
}

/* A Fortran entry's trampoline left the address it was called from; it is good while the stack slot that it
 * was read from still holds it. */
static const char *fortran_entry(const void *frame, const void **address)
{
	if (likely(!entry_site.slot) || (const void *)entry_site.slot <= frame ||
	    *entry_site.slot != entry_site.address)
		return NULL;
	*address = entry_site.address;
	return entry_site.name;
}

static struct site_entry entry_at(struct thread *t, const struct place *place)
{
	return (struct site_entry){.address = place->address, .site = look_up(t, place)};
}

static bool holds(const struct path_entry *e, const void *frame, const void *address)
{
	if (e->entry.address != address || e->frame != frame)
		return false;
	for (uint32_t i = 0; i < e->callers; i++)
		if (*e->caller[i].slot != e->caller[i].held)
			return false;
	return true;
}

static bool in_interpreter(const void *address)
{
	void *begin = NULL;

	return python_known() &&
	       process_module(address, &begin) == process_module(python_code(), &begin);
}

/* Where the function was called from, by which function, and so on; of what an interpreter calls, as far as that. A program
 * whose stack is never the same twice pays for some of its calls only. False: not for this one. */
static bool learn_path(struct thread *t, struct path_entry *e, const void *address)
{
	uint32_t found;

	if (t->unwound > UNWOUND + t->next_seq / UNWOUND_SHARE)
		return false;
	e->entry.address = NULL;
	t->unwound++;
	found = in_interpreter(address) ? 0 : unwind(address, e->caller, CALLERS);
	for (e->callers = 0; e->callers < found; e->callers++)
		if (in_interpreter(e->caller[e->callers].address))
			break;
	return true;
}

/* Paths of one address may stand alike on the stack, as those of an interpreter do: several are kept. False: it is a new
 * one, whose `entry` is still to be made. */
static bool find_path(struct thread *t, const void *frame, const void *address,
		      struct path_entry **path)
{
	const uintptr_t hash = (uintptr_t)address ^ (uintptr_t)frame / 16;
	struct path_entry *set = &t->paths[hash % (PATHS / ALIKE) * ALIKE], *e = set;

	while (e < set + ALIKE && e->entry.address && !holds(e, frame, address))
		e++;
	*path = e;
	if (likely(e < set + ALIKE && e->entry.address))
		return true;
	if (e == set + ALIKE)
		*path = &set[t->unwound % ALIKE];
	if (!learn_path(t, *path, address))
		*path = &t->no_path;
	(*path)->frame = frame;
	return false;
}

/* Its callers become those of the place, and their callers what those of the place were. */
static void add_callers(struct thread *t, const struct path_entry *path, struct place *place)
{
	for (uint32_t i = path->callers; i-- > 0;)
		place->caller = look_up(t, &(struct place){.address = path->caller[i].address,
							   .caller = place->caller});
}

static struct path_entry *path_of(struct thread *t, const void *frame, struct place *place)
{
	struct path_entry *e;

	if (!find_path(t, frame, place->address, &e)) {
		add_callers(t, e, place);
		e->entry = entry_at(t, place);
	}
	return e;
}

/* What Python called, down to this call; NULL: nobody asked for that, or the interpreter itself made it. */
static const struct path_entry *native_path(struct thread *t, const void *frame,
					    const void *address)
{
	struct path_entry *e;

	if (!config.paths)
		return NULL;
	if (!find_path(t, frame, address, &e))
		e->entry = (struct site_entry){.address = address};
	return e->callers || !in_interpreter(address) ? e : NULL;
}

/* By the lines of Python that the thread is in. Programs of ever new paths are known by the innermost alone. */
static struct site_entry *entry_of_lines(struct thread *t, const void *frame, struct place *place)
{
	struct python_line line[PYTHON_LINES];
	const struct path_entry *native = native_path(t, frame, place->address);
	const uint32_t lines = python_lines(t, line, PYTHON_LINES);
	uint64_t key = (uintptr_t)place->address;
	struct line_entry *e;

	for (uint32_t i = 0; i < lines; i++)
		key = mix(key, line[i].key);
	for (uint32_t i = 0; native && i < native->callers; i++)
		key = mix(key, (uintptr_t)native->caller[i].address);
	e = &t->line[key % LINES];
	if (likely(e->key == key))
		return &e->entry;
	if (process->sites >= SITE_TABLE / 2)
		native = NULL;
	for (uint32_t i = lines; i-- > !native && process->sites < SITE_TABLE / 2;)
		place->caller =
			look_up(t, &(struct place){.line = &line[i], .caller = place->caller});
	if (native)
		add_callers(t, native, place);
	else
		place->line = lines ? line : NULL;
	*e = (struct line_entry){key, entry_at(t, place)};
	return &e->entry;
}

/* Is it by code in no module, which was made while the program ran? What calls from there is all an interpreter's. */
static bool is_of_generated(const struct path_entry *e)
{
	void *begin = NULL;

	for (uint32_t i = 0; i < e->callers; i++)
		if (!process_module(e->caller[i].address, &begin))
			return true;
	return false;
}

static bool in_program(const void *address)
{
	void *begin = NULL;
	const struct link_map *map = process_module(address, &begin);

	return !map || !map->l_name[0];
}

static struct trial *trial_of(struct thread *t, const struct op *op, const void *address)
{
	struct trial *trial = &t->trial[(uintptr_t)address / 4 % SITES];

	if (unlikely(trial->address != address))
		*trial = (struct trial){
			.address = address,
			.several = config.paths || LIBRARY_LAYERS >> op->layer & 1 ||
				   !in_program(address),
		};
	return trial;
}

/* Looking at the stack would be felt in short calls. So those of the program's own functions, not of libraries, are known
 * by their address alone, unless they come by several paths: a helper's, or a library's that was linked into the
 * program. C streams and the like, a call of which takes less time still, are not tried.
 * The thread's entries of addresses, which the fast ways look at, are of such as tell all. */
static struct site_entry *entry_of(struct thread *t, const struct op *op, const void *frame,
				   const void *address)
{
	struct place place = {.entry = fortran_entry(frame, &address)};
	struct site_entry *e = &t->site[(uintptr_t)address / 4 % SITES];
	struct path_entry *path;
	struct trial *trial;

	place.address = address;
	if (unlikely(python_known()))
		return entry_of_lines(t, frame, &place);
	if (likely(e->address == address))
		return e;
	trial = trial_of(t, op, address);
	if (trial->several || (op->layer == LAYER_POSIX && trial->calls < TRIALS)) {
		path = path_of(t, frame, &place);
		if (!trial->calls++) {
			trial->site = path->entry.site;
			trial->several |= is_of_generated(path);
		}
		trial->several |= trial->site != path->entry.site;
		return &path->entry;
	}
	*e = entry_at(t, &place);
	return e;
}

uint32_t site_of(struct thread *t, const struct op *op, const void *frame, const void *address)
{
	return entry_of(t, op, frame, address)->site;
}

static unsigned find_code(const struct levels *l, const void *address)
{
	void *begin = NULL;
	const struct link_map *map = process_module(address, &begin);
	char path[PATH_BYTES];
	const char *id = "", *name;
	size_t id_bytes;
	long got = 0;

	if (!map)
		return 0;
	id_bytes = build_id(begin, &id);
	name = map->l_name;
	if (!id_bytes && !*name) {
		got = raw4(SYS_readlinkat, AT_FDCWD, (long)"/proc/self/exe", (long)path,
			   sizeof(path) - 1);
		path[got > 0 ? got : 0] = '\0';
		name = path;
	}
	return levels_code(l, id, id_bytes, name, (uintptr_t)address - map->l_addr);
}

unsigned site_code(struct thread *t, const struct levels *l, const struct op *op, const void *frame,
		   const void *address)
{
	struct site_entry *e = entry_of(t, op, frame, address);
	const uint32_t number = l->number << TABLES;

	if (e->code >> TABLES << TABLES != number)
		e->code = number | find_code(l, e->address);
	return e->code & ((1u << TABLES) - 1);
}

void sites_forget(void)
{
	memory_wipe(process->site_table, sizeof(struct site_table));
}
