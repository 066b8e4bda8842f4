/* The only module of a static program. */
#include <stddef.h>
#include <elf.h>
#include <stdint.h>
#include <sys/auxv.h>

#include "core/sites.h"
#include "core/process.h"
#include "linked/linked.h"

extern const ElfW(Ehdr) __ehdr_start __attribute__((visibility("hidden")));
extern const char _end[] __attribute__((visibility("hidden")));

struct link_map linked_program = {.l_name = ""};

/* A program that may lie anywhere (-static-pie) was linked to lie at 0. */
void where_begin(void)
{
	if (__ehdr_start.e_type == ET_DYN)
		linked_program.l_addr = (uintptr_t)&__ehdr_start;
}

const struct link_map *process_module(const void *address, void **begin)
{
	const uintptr_t at = (uintptr_t)address;

	if (at < (uintptr_t)&__ehdr_start || at >= (uintptr_t)_end)
		return NULL;
	*begin = (void *)(uintptr_t)&__ehdr_start;
	return &linked_program;
}
