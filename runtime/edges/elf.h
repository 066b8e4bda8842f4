/* One loaded module, read through its dynamic section: what it defines, what it imports. */
#ifndef FATHOM_ELF_H
#define FATHOM_ELF_H

#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct elf_table {
	const ElfW(Rela) * entry;
	size_t count;
};

struct elf {
	uintptr_t base;             /* load bias */
	uintptr_t start, end;       /* of all PT_LOAD */
	uintptr_t relro, relro_end; /* pages that ld.so made read-only */
	const ElfW(Phdr) * headers;
	size_t headers_count;
	const ElfW(Dyn) * dynamic;
	const char *soname, *rpath, *runpath; /* NULL: none */
	const char *strings;
	const ElfW(Sym) * symbols;
	const uint32_t *gnu_hash, *old_hash;
	const ElfW(Half) * versions;
	const ElfW(Verneed) * needs;
	const ElfW(Verdef) * defines;
	size_t needs_count, defines_count;
	struct elf_table data, plt; /* DT_RELA, DT_JMPREL; DT_RELR holds relative ones only */
};

/* What is looked for, with the rules of the asker: a relocation or dlsym. */
struct elf_query {
	const char *name;
	const char *version; /* NULL: any, see newest */
	uint32_t gnu_hash;
	bool exact;  /* dlvsym: a symbol of the base version is no match for a named one */
	bool newest; /* dlsym: the default version, where a relocation takes the oldest */
	bool plt;    /* JUMP_SLOT: an executable's own PLT entry is no definition */
};

void elf_read(struct elf *m, const struct dl_phdr_info *info, const ElfW(Dyn) * dynamic);
uint32_t elf_gnu_hash(const char *name);
struct elf_query elf_query(const char *name, const char *version);
const ElfW(Sym) * elf_find(const struct elf *m, const struct elf_query *q);
/* The address that a definition stands for; runs the resolver of an IFUNC. */
void *elf_address(const struct elf *m, const ElfW(Sym) * symbol);
/* The version that m asks for in its undefined symbol number `index`; NULL: none. */
const char *elf_wanted_version(const struct elf *m, size_t index);
/* Is a note there of this name, `bytes` long with its zeros, and type? */
bool elf_has_note(const struct elf *m, const char *name, uint32_t bytes, uint32_t type);
/* Protection that address's segment has by its program header. */
int elf_protection(const struct elf *m, uintptr_t address);

static inline bool elf_inside(const struct elf *m, uintptr_t address)
{
	return address >= m->start && address < m->end;
}

static inline bool elf_undefined(const ElfW(Sym) * symbol)
{
	return symbol->st_shndx == SHN_UNDEF;
}

#endif
