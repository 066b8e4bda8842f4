/* Pages of this process, asked of the kernel by range. */
#include <fcntl.h>
#include <linux/ioctl.h>

#include "core/raw.h"
#include "handlers/pagemap.h"

enum { REGIONS = 64 };

struct scanned_region {
	uint64_t start, end, categories;
};
struct scan {
	uint64_t size, flags, start, end, walk_end, vec, vec_len, max_pages;
	uint64_t category_inverted, category_mask, category_anyof_mask, return_mask;
};
#define SCAN _IOWR('f', 16, struct scan)

long pagemap_open(void)
{
	return raw3(SYS_openat, AT_FDCWD, (long)"/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
}

bool pagemap_scan(long fd, uintptr_t start, uintptr_t end, uint64_t category, uint64_t flags,
		  void (*take)(void *to, uint64_t from, uint64_t bytes), void *to)
{
	struct scanned_region region[REGIONS];
	struct scan s = {
		.size = sizeof(s),
		.flags = flags,
		.start = start,
		.end = end,
		.vec = (uintptr_t)region,
		.vec_len = REGIONS,
		.category_mask = category,
		.return_mask = category,
	};

	for (; s.start < end; s.start = s.walk_end) {
		const long regions = raw3(SYS_ioctl, fd, (long)SCAN, (long)&s);

		if (regions < 0 || s.walk_end <= s.start)
			return false;
		for (long i = 0; i < regions; i++)
			take(to, region[i].start, region[i].end - region[i].start);
	}
	return true;
}
