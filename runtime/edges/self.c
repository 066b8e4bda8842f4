/* Fathom's own calls go to libc itself. The loader has bound them like everybody's: to a preload
 * tool, or to a sanitizer inside the program, which at our constructor's time is not yet ready and
 * crashes. So before anything else our own slots are pointed to libc's definitions.
 * Nothing here may call a function of another module: tests look at the object's symbols. We are linked without
 * RELRO, so that our slots need no system call, which might be refused. */
#include "edges/self.h"

#include <elf.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

extern ElfW(Dyn) _DYNAMIC[] __attribute__((visibility("hidden")));

enum { VERSION_HIDDEN = 0x8000 };

struct library {
	uintptr_t base;
	const ElfW(Dyn) * dynamic;
	const char *strings;
	const ElfW(Sym) * symbols;
};

static uintptr_t entry(const struct library *l, ElfW(Sxword) tag)
{
	for (const ElfW(Dyn) *d = l->dynamic; d->d_tag != DT_NULL; d++)
		if (d->d_tag == tag)
			return d->d_un.d_val;
	return 0;
}

static struct library open_library(const struct link_map *map)
{
	struct library l = {.base = map->l_addr, .dynamic = map->l_ld};

	l.strings = (const char *)entry(&l, DT_STRTAB);
	l.symbols = (const ElfW(Sym) *)entry(&l, DT_SYMTAB);
	return l;
}

static bool same(const char *a, const char *b)
{
	while (*a && *a == *b) {
		a++;
		b++;
	}
	return *a == *b;
}

/* libc: by its soname, libc.so.6 with glibc. */
static bool is_libc(const struct library *l)
{
	static const char prefix[] = "libc.so.";
	const char *name = l->strings + entry(l, DT_SONAME);

	for (size_t i = 0; i < sizeof(prefix) - 1; i++)
		if (name[i] != prefix[i])
			return false;
	return true;
}

static uint32_t hash_of(const char *name)
{
	uint32_t hash = 5381;

	for (; *name; name++)
		hash = hash * 33 + (unsigned char)*name;
	return hash;
}

/* The default version of a function; data may be copied into the program and stays as bound. */
static bool is_function(const struct library *l, uint32_t i, const char *name)
{
	const ElfW(Half) *versions = (const ElfW(Half) *)entry(l, DT_VERSYM);
	const ElfW(Sym) *s = &l->symbols[i];
	unsigned type = ELF64_ST_TYPE(s->st_info);

	return (type == STT_FUNC || type == STT_GNU_IFUNC) && s->st_shndx != SHN_UNDEF &&
	       !(versions && versions[i] & VERSION_HIDDEN) && same(l->strings + s->st_name, name);
}

static uintptr_t find(const struct library *l, const char *name)
{
	const uint32_t *table = (const uint32_t *)entry(l, DT_GNU_HASH);
	uint32_t hash = hash_of(name), i;
	const uint32_t *bucket, *chain;
	uintptr_t address;

	if (!table)
		return 0;
	bucket = (const uint32_t *)((const ElfW(Addr) *)&table[4] + table[2]);
	chain = bucket + table[0];
	for (i = bucket[hash % table[0]]; i >= table[1]; i++) {
		if ((chain[i - table[1]] | 1) == (hash | 1) && is_function(l, i, name)) {
			address = l->base + l->symbols[i].st_value;
			if (ELF64_ST_TYPE(l->symbols[i].st_info) == STT_GNU_IFUNC)
				address = ((uintptr_t(*)(void))address)();
			return address;
		}
		if (chain[i - table[1]] & 1)
			break;
	}
	return 0;
}

static void bind_table(const struct library *own, const struct library *libc, uintptr_t at,
		       size_t bytes)
{
	const ElfW(Rela) *r = (const ElfW(Rela) *)at;

	for (size_t i = 0; i < bytes / sizeof(*r); i++) {
		const ElfW(Sym) *s = &own->symbols[ELF64_R_SYM(r[i].r_info)];
		uintptr_t *slot = (uintptr_t *)(own->base + r[i].r_offset);
		uintptr_t to;

		if (!ELF64_R_SYM(r[i].r_info) || s->st_shndx != SHN_UNDEF || r[i].r_addend)
			continue;
		to = find(libc, own->strings + s->st_name);
		if (to)
			*slot = to;
	}
}

bool self_bind(void)
{
	struct library own = {0}, libc = {0};
	bool late = false;

	for (const struct link_map *map = _r_debug.r_map; map; map = map->l_next) {
		struct library l = open_library(map);

		if (map->l_ld == _DYNAMIC) {
			own = l;
			late = libc.dynamic;
		}
		if (map->l_ld != _DYNAMIC && l.strings && (uintptr_t)l.strings > l.base &&
		    is_libc(&l))
			libc = l;
	}
	if (!own.dynamic || !libc.dynamic)
		return late;
	bind_table(&own, &libc, entry(&own, DT_RELA), entry(&own, DT_RELASZ));
	bind_table(&own, &libc, entry(&own, DT_JMPREL), entry(&own, DT_PLTRELSZ));
	return late;
}
