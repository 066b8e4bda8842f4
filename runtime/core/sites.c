/* Call sites: return address -> (module, offset), numbered once per process. */
#include <elf.h>
#include <link.h>
#include <fcntl.h>
#include <string.h>

#include "core/base.h"
#include "core/call.h"
#include "core/forget.h"
#include "core/sites.h"
#include "core/state.h"
#include "core/stream.h"
#include "core/thread.h"
#include "core/levels.h"
#include "core/process.h"
#include "core/raw.h"
#include "edges/edges.h"

enum { SITE_TABLE = 4096, MODULES = 512 };

struct site_table {
	struct {
		_Atomic uintptr_t address;
		uint32_t site;
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
	const ElfW(Ehdr) *header = (const void *)begin;
	const ElfW(Phdr) *segment = (const void *)(begin + header->e_phoff);
	uintptr_t first = 0;

	if (memcmp(header->e_ident, ELFMAG, SELFMAG) != 0)
		return 0;
	for (int i = 0; i < header->e_phnum; i++)
		if (segment[i].p_type == PT_LOAD && segment[i].p_offset == 0)
			first = segment[i].p_vaddr;
	for (int i = 0; i < header->e_phnum; i++) {
		const char *at = begin - first + segment[i].p_vaddr, *end = at + segment[i].p_memsz;

		while (segment[i].p_type == PT_NOTE && at + sizeof(ElfW(Nhdr)) <= end) {
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

static uint32_t define_site(struct thread *t, const void *address, const char *entry)
{
	void *begin = NULL;
	const struct link_map *map = process_module(address, &begin);
	uint32_t site = atomic_fetch_add(&process->sites, 1) + 1, module;
	struct record r;

	module = map ? module_of(t, map, begin) : 0;
	r = record_begin(t);
	record_varint(&r, site);
	record_varint(&r, module);
	record_varint(&r, (uintptr_t)address - (map ? map->l_addr : 0));
	record_string(&r, entry);
	record_end(&r, RECORD_SITE);
	return site;
}

/* The process's table: bounded; a site that finds no room is unknown (0). */
static uint32_t look_up(struct thread *t, const void *address, const char *entry)
{
	uint64_t mask = process_lock();
	struct site_table *table = process->site_table;
	uint32_t slot = (uint32_t)((uintptr_t)address * 0x9e3779b97f4a7c15u >> 52), site = 0;

	if (!table)
		table = process->site_table = memory_get(sizeof(*table), true);
	for (uint32_t probe = 0; table && probe < 64; probe++, slot = (slot + 1) % SITE_TABLE) {
		uintptr_t there = table->site[slot].address;

		if (!there || (there == (uintptr_t)address && !table->site[slot].site)) {
			table->site[slot].address = (uintptr_t)address;
			process_unlock(
				mask); /* a record may need the lock to go on to the next chunk */
			site = define_site(t, address, entry);
			table->site[slot].site = site;
			return site;
		}
		if (there == (uintptr_t)address) {
			site = table->site[slot].site;
			break;
		}
	}
	process_unlock(mask);
	return site;
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

static struct site_entry *entry_of(struct thread *t, const void *frame, const void *address)
{
	const char *entry = fortran_entry(frame, &address);
	struct site_entry *e = &t->site[(uintptr_t)address / 4 % SITES];

	if (unlikely(e->address != address)) {
		e->site = look_up(t, address, entry);
		e->address = address;
		e->code = 0;
	}
	return e;
}

uint32_t site_of(struct thread *t, const void *frame, const void *address)
{
	return entry_of(t, frame, address)->site;
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

unsigned site_code(struct thread *t, const struct levels *l, const void *frame, const void *address)
{
	struct site_entry *e = entry_of(t, frame, address);
	const uint32_t number = l->number << TABLES;

	if (e->code >> TABLES << TABLES != number)
		e->code = number | find_code(l, e->address);
	return e->code & ((1u << TABLES) - 1);
}

void sites_forget(void)
{
	memory_wipe(process->site_table, sizeof(struct site_table));
}
