/* Which pages of this process's memory are of some kind: PAGEMAP_SCAN of Linux 6.7, not in older headers. */
#ifndef FATHOM_PAGEMAP_H
#define FATHOM_PAGEMAP_H

#include <stdbool.h>
#include <stdint.h>

enum { SCAN_PROTECT = 1, SCAN_CHECK = 2, PAGE_WRITTEN = 2, PAGE_PRESENT = 8 };

/* A descriptor; below zero: it cannot be asked. */
long pagemap_open(void);
/* Gives each range of pages of this category to `take`. False: the kernel does not tell (all) of them. */
bool pagemap_scan(long fd, uintptr_t start, uintptr_t end, uint64_t category, uint64_t flags,
		  void (*take)(void *to, uint64_t from, uint64_t bytes), void *to);

#endif
