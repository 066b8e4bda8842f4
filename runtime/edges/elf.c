/* Reads a loaded module's dynamic section, and looks one symbol up in it as ld.so does. */
#include "edges/elf.h"

#include <elf.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>

enum { VERSION_HIDDEN = 0x8000, VERSION_INDEX = 0x7fff };

/* glibc writes the address into most dynamic entries, musl and the vdso leave an offset. */
static uintptr_t place(const struct elf *m, ElfW(Addr) value)
{
	return value < m->start ? value + m->base : value;
}

static void read_headers(struct elf *m)
{
	uintptr_t page = -(uintptr_t)getauxval(AT_PAGESZ);

	m->start = UINTPTR_MAX;
	for (size_t i = 0; i < m->headers_count; i++) {
		const ElfW(Phdr) *h = &m->headers[i];
		uintptr_t start = m->base + h->p_vaddr;

		if (h->p_type == PT_LOAD) {
			if (start < m->start)
				m->start = start;
			if (start + h->p_memsz > m->end)
				m->end = start + h->p_memsz;
		} else if (h->p_type == PT_GNU_RELRO) {
			m->relro = start & page;
			m->relro_end = (start + h->p_memsz) & page;
		}
	}
}

static void read_relocations(struct elf *m, const ElfW(Dyn) * d)
{
	if (d->d_tag == DT_RELA)
		m->data.entry = (const void *)place(m, d->d_un.d_ptr);
	else if (d->d_tag == DT_RELASZ)
		m->data.count = d->d_un.d_val / sizeof(ElfW(Rela));
	else if (d->d_tag == DT_JMPREL)
		m->plt.entry = (const void *)place(m, d->d_un.d_ptr);
	else if (d->d_tag == DT_PLTRELSZ)
		m->plt.count = d->d_un.d_val / sizeof(ElfW(Rela));
}

/* The first of them name no symbol: in large libraries those are most. */
static void leave_out_relative(struct elf *m, const ElfW(Dyn) * dynamic)
{
	size_t relative = 0;

	for (const ElfW(Dyn) *d = dynamic; d->d_tag != DT_NULL; d++)
		if (d->d_tag == DT_RELACOUNT)
			relative = d->d_un.d_val;
	if (!m->data.entry || relative > m->data.count)
		return;
	m->data.entry += relative;
	m->data.count -= relative;
}

static void read_versions(struct elf *m, const ElfW(Dyn) * d)
{
	if (d->d_tag == DT_VERSYM)
		m->versions = (const void *)place(m, d->d_un.d_ptr);
	else if (d->d_tag == DT_VERNEED)
		m->needs = (const void *)place(m, d->d_un.d_ptr);
	else if (d->d_tag == DT_VERNEEDNUM)
		m->needs_count = d->d_un.d_val;
	else if (d->d_tag == DT_VERDEF)
		m->defines = (const void *)place(m, d->d_un.d_ptr);
	else if (d->d_tag == DT_VERDEFNUM)
		m->defines_count = d->d_un.d_val;
}

static void read_symbols(struct elf *m, const ElfW(Dyn) * d)
{
	if (d->d_tag == DT_SYMTAB)
		m->symbols = (const void *)place(m, d->d_un.d_ptr);
	else if (d->d_tag == DT_STRTAB)
		m->strings = (const void *)place(m, d->d_un.d_ptr);
	else if (d->d_tag == DT_GNU_HASH)
		m->gnu_hash = (const void *)place(m, d->d_un.d_ptr);
	else if (d->d_tag == DT_HASH)
		m->old_hash = (const void *)place(m, d->d_un.d_ptr);
}

static void read_strings(struct elf *m, const ElfW(Dyn) * d)
{
	if (d->d_tag == DT_SONAME)
		m->soname = m->strings + d->d_un.d_val;
	else if (d->d_tag == DT_RPATH)
		m->rpath = m->strings + d->d_un.d_val;
	else if (d->d_tag == DT_RUNPATH)
		m->runpath = m->strings + d->d_un.d_val;
}

void elf_read(struct elf *m, const struct dl_phdr_info *info, const ElfW(Dyn) * dynamic)
{
	*m = (struct elf){.base = info->dlpi_addr,
			  .headers = info->dlpi_phdr,
			  .headers_count = info->dlpi_phnum,
			  .dynamic = dynamic};
	read_headers(m);
	if (!dynamic)
		return;
	for (const ElfW(Dyn) *d = dynamic; d->d_tag != DT_NULL; d++) {
		read_symbols(m, d);
		read_versions(m, d);
		read_relocations(m, d);
	}
	leave_out_relative(m, dynamic);
	for (const ElfW(Dyn) *d = dynamic; m->strings && d->d_tag != DT_NULL; d++)
		read_strings(m, d);
	if (m->runpath)
		m->rpath = NULL; /* ld.so: the older form is ignored beside the newer */
}

uint32_t elf_gnu_hash(const char *name)
{
	uint32_t hash = 5381;

	for (const unsigned char *c = (const unsigned char *)name; *c; c++)
		hash = hash * 33 + *c;
	return hash;
}

static uint32_t sysv_hash(const char *name)
{
	uint32_t hash = 0;

	for (const unsigned char *c = (const unsigned char *)name; *c; c++) {
		hash = (hash << 4) + *c;
		hash ^= (hash >> 24) & 0xf0;
		hash &= 0x0fffffff;
	}
	return hash;
}

struct elf_query elf_query(const char *name, const char *version)
{
	return (struct elf_query){.name = name, .version = version, .gnu_hash = elf_gnu_hash(name)};
}

/* Name of version number `index` that m defines; NULL: the base version. */
static const char *defined_version(const struct elf *m, unsigned index)
{
	const ElfW(Verdef) *d = m->defines;

	for (size_t i = 0; d && i < m->defines_count; i++) {
		if ((d->vd_ndx & VERSION_INDEX) == index && !(d->vd_flags & VER_FLG_BASE)) {
			const ElfW(Verdaux) *a = (const void *)((const char *)d + d->vd_aux);
			return m->strings + a->vda_name;
		}
		d = (const void *)((const char *)d + d->vd_next);
	}
	return NULL;
}

const char *elf_wanted_version(const struct elf *m, size_t index)
{
	const ElfW(Verneed) *n = m->needs;

	for (size_t i = 0; n && m->versions && i < m->needs_count; i++) {
		const ElfW(Vernaux) *a = (const void *)((const char *)n + n->vn_aux);

		for (unsigned j = 0; j < n->vn_cnt; j++) {
			if ((a->vna_other & VERSION_INDEX) == (m->versions[index] & VERSION_INDEX))
				return m->strings + a->vna_name;
			a = (const void *)((const char *)a + a->vna_next);
		}
		n = (const void *)((const char *)n + n->vn_next);
	}
	return NULL;
}

/* A module's only default version counts when no version is asked for; kept here meanwhile. */
struct candidate {
	const ElfW(Sym) * symbol;
	unsigned count;
};

static bool version_fits(const struct elf *m, size_t i, const struct elf_query *q,
			 struct candidate *c)
{
	unsigned version = m->versions ? m->versions[i] : 0;
	const char *name;

	if (!m->versions)
		return true;
	if (!q->version) {
		if ((version & VERSION_INDEX) < (q->newest ? 2 : 3))
			return true;
		if (!(version & VERSION_HIDDEN) && c->count++ == 0)
			c->symbol = &m->symbols[i];
		return false;
	}
	name = defined_version(m, version & VERSION_INDEX);
	if (name && !strcmp(name, q->version))
		return true;
	return !name && !q->exact && !(version & VERSION_HIDDEN);
}

static bool is_definition(const ElfW(Sym) * s, const struct elf_query *q)
{
	unsigned type = ELF64_ST_TYPE(s->st_info), bind = ELF64_ST_BIND(s->st_info);
	unsigned visibility = ELF64_ST_VISIBILITY(s->st_other);

	if (s->st_value == 0 && s->st_shndx != SHN_ABS)
		return false;
	if (q->plt && elf_undefined(s))
		return false;
	if (type > STT_FUNC && type != STT_COMMON && type != STT_GNU_IFUNC)
		return false;
	if (visibility == STV_HIDDEN || visibility == STV_INTERNAL)
		return false;
	return bind == STB_GLOBAL || bind == STB_WEAK || bind == STB_GNU_UNIQUE;
}

static bool fits(const struct elf *m, size_t i, const struct elf_query *q, struct candidate *c)
{
	const ElfW(Sym) *s = &m->symbols[i];

	return is_definition(s, q) && !strcmp(m->strings + s->st_name, q->name) &&
	       version_fits(m, i, q, c);
}

static const ElfW(Sym) *
	find_gnu(const struct elf *m, const struct elf_query *q, struct candidate *c)
{
	uint32_t buckets = m->gnu_hash[0], first = m->gnu_hash[1], words = m->gnu_hash[2];
	const ElfW(Addr) *bloom = (const void *)&m->gnu_hash[4];
	const uint32_t *bucket = (const void *)&bloom[words], *chain = bucket + buckets;
	unsigned bits = 8 * sizeof(ElfW(Addr));
	ElfW(Addr) word = bloom[(q->gnu_hash / bits) & (words - 1)];
	uint32_t i;

	if (!((word >> (q->gnu_hash % bits)) & (word >> ((q->gnu_hash >> m->gnu_hash[3]) % bits)) &
	      1))
		return NULL;
	i = buckets ? bucket[q->gnu_hash % buckets] : 0;
	if (i < first)
		return NULL;
	for (;; i++) {
		if ((chain[i - first] | 1) == (q->gnu_hash | 1) && fits(m, i, q, c))
			return &m->symbols[i];
		if (chain[i - first] & 1)
			return NULL;
	}
}

static const ElfW(Sym) *
	find_old(const struct elf *m, const struct elf_query *q, struct candidate *c)
{
	uint32_t buckets = m->old_hash[0];
	const uint32_t *bucket = &m->old_hash[2], *chain = bucket + buckets;

	for (uint32_t i = buckets ? bucket[sysv_hash(q->name) % buckets] : 0; i; i = chain[i])
		if (fits(m, i, q, c))
			return &m->symbols[i];
	return NULL;
}

const ElfW(Sym) * elf_find(const struct elf *m, const struct elf_query *q)
{
	struct candidate c = {0};
	const ElfW(Sym) *symbol = NULL;

	if (!m->symbols || !m->strings)
		return NULL;
	if (m->gnu_hash)
		symbol = find_gnu(m, q, &c);
	else if (m->old_hash)
		symbol = find_old(m, q, &c);
	return symbol || c.count != 1 ? symbol : c.symbol;
}

void *elf_address(const struct elf *m, const ElfW(Sym) * symbol)
{
	uintptr_t address = symbol->st_value + (symbol->st_shndx == SHN_ABS ? 0 : m->base);

	if (ELF64_ST_TYPE(symbol->st_info) == STT_GNU_IFUNC && !elf_undefined(symbol))
		return ((void *(*)(void))address)();
	return (void *)address;
}

bool elf_has_note(const struct elf *m, const char *name, uint32_t bytes, uint32_t type)
{
	for (size_t i = 0; i < m->headers_count; i++) {
		const ElfW(Phdr) *h = &m->headers[i];
		const char *at = (const char *)(m->base + h->p_vaddr);

		if (h->p_type != PT_NOTE)
			continue;
		for (const char *end = at + h->p_memsz; end - at >= 12 + (long)bytes; at += 4) {
			const uint32_t *head = (const void *)at;

			if (head[0] == bytes && head[2] == type && !memcmp(at + 12, name, bytes))
				return true;
		}
	}
	return false;
}

int elf_protection(const struct elf *m, uintptr_t address)
{
	for (size_t i = 0; i < m->headers_count; i++) {
		const ElfW(Phdr) *h = &m->headers[i];

		if (h->p_type != PT_LOAD || address - m->base - h->p_vaddr >= h->p_memsz)
			continue;
		return (h->p_flags & PF_R ? PROT_READ : 0) | (h->p_flags & PF_W ? PROT_WRITE : 0) |
		       (h->p_flags & PF_X ? PROT_EXEC : 0);
	}
	return 0;
}
