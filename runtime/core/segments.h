/* The program headers of a module that lies in memory. */
#ifndef FATHOM_SEGMENTS_H
#define FATHOM_SEGMENTS_H

#include <elf.h>
#include <link.h>
#include <string.h>

struct segments {
	const ElfW(Phdr) * at;
	int n;
	const char *base; /* what their addresses count from */
};

/* None, where no ELF file begins there. */
static inline struct segments segments_of(const char *begin)
{
	const ElfW(Ehdr) *header = (const void *)begin;
	struct segments s = {(const void *)(begin + header->e_phoff), header->e_phnum, begin};

	if (memcmp(header->e_ident, ELFMAG, SELFMAG) != 0)
		return (struct segments){0};
	for (int i = 0; i < s.n; i++)
		if (s.at[i].p_type == PT_LOAD && s.at[i].p_offset == 0)
			s.base = begin - s.at[i].p_vaddr;
	return s;
}

#endif
