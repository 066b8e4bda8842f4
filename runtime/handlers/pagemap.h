/* PAGEMAP_SCAN of Linux 6.7's headers: which pages of a range are of some kind. */
#ifndef FATHOM_PAGEMAP_H
#define FATHOM_PAGEMAP_H

#include <linux/ioctl.h>
#include <stdint.h>

struct scanned_region {
	uint64_t start, end, categories;
};
struct scan {
	uint64_t size, flags, start, end, walk_end, vec, vec_len, max_pages;
	uint64_t category_inverted, category_mask, category_anyof_mask, return_mask;
};
#define SCAN _IOWR('f', 16, struct scan)
enum { SCAN_PROTECT = 1, SCAN_CHECK = 2, PAGE_WRITTEN = 2, PAGE_PRESENT = 8 };

#endif
