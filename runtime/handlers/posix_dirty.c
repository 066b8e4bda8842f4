/* `--mmap dirty`: which bytes of shared mappings were written, epoch by epoch. The kernel notes the first write to each
 * page by itself (userfaultfd, asynchronous write protection: Linux 6.7); an epoch ends at msync, munmap, mremap and at
 * the end of the process, where the pages written are asked for and protected anew. */
#include <errno.h>
#include <fcntl.h>
#include <linux/ioctl.h>
#include <linux/userfaultfd.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "core/hash.h"
#include "core/raw.h"
#include "handlers/pagemap.h"
#include "handlers/posix.h"

/* Of Linux 6.7's headers. */
#ifndef UFFD_FEATURE_WP_UNPOPULATED
#define UFFD_FEATURE_WP_UNPOPULATED (1 << 13)
#endif
#ifndef UFFD_FEATURE_WP_ASYNC
#define UFFD_FEATURE_WP_ASYNC (1 << 15)
#endif

enum { WATCHED = 256, BLOCKS = 64 };
enum { FREE, CHANGING, USED };

/* Mappings that are watched, in this process image: a child's are not. */
static struct {
	_Atomic int pid; /* whose these are; 0: nobody's yet */
	int fd;          /* the userfaultfd; -1: not to be had */
	struct watched {
		_Atomic int state;
		uint32_t object;
		uintptr_t start, end;
		int64_t offset; /* in the file, of start */
	} mapping[WATCHED];
} watch;

static long control(int fd, unsigned long request, void *argument)
{
	return raw3(SYS_ioctl, fd, (long)request, (long)argument);
}

/* Its number is a high one: the program's own are as if we were absent. */
static int move_up(long fd)
{
	long high = raw3(SYS_fcntl, fd, F_DUPFD_CLOEXEC, 900);

	if (high < 0)
		return (int)fd;
	raw3(SYS_close, fd, 0, 0);
	return (int)high;
}

static int open_watch(void)
{
	struct uffdio_api api = {
		.api = UFFD_API,
		.features = UFFD_FEATURE_WP_UNPOPULATED | UFFD_FEATURE_WP_ASYNC,
	};
	long fd = raw3(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK, 0, 0), error = fd;

	if (fd == -EPERM)
		error = fd =
			raw3(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | UFFD_USER_MODE_ONLY, 0, 0);
	if (fd >= 0)
		error = control((int)fd, UFFDIO_API, &api);
	if (error >= 0)
		return move_up(fd);
	note("--mmap dirty: the kernel does not tell which pages are written (errno %ld); it needs "
	     "Linux 6.7 and the right to userfaultfd",
	     -error);
	if (fd >= 0)
		raw3(SYS_close, fd, 0, 0);
	return -1;
}

static bool watching(void)
{
	const int pid = (int)raw3(SYS_getpid, 0, 0, 0);
	int whose = atomic_load(&watch.pid);

	if (!mapped_writes_wanted() || raw_closed())
		return false;
	if (whose != pid && atomic_compare_exchange_strong(&watch.pid, &whose, pid)) {
		for (int i = 0; i < WATCHED; i++)
			atomic_store(&watch.mapping[i].state, FREE); /* the parent's */
		watch.fd = open_watch();
	}
	return watch.fd >= 0;
}

static bool protect(uintptr_t start, uintptr_t end)
{
	struct uffdio_register pages = {
		.range = {.start = start, .len = end - start},
		.mode = UFFDIO_REGISTER_MODE_WP,
	};
	struct uffdio_writeprotect closed = {
		.range = pages.range,
		.mode = UFFDIO_WRITEPROTECT_MODE_WP,
	};

	return control(watch.fd, UFFDIO_REGISTER, &pages) == 0 &&
	       control(watch.fd, UFFDIO_WRITEPROTECT, &closed) == 0;
}

static bool add(uint32_t object, uintptr_t start, uintptr_t end, int64_t offset)
{
	for (int i = 0; i < WATCHED; i++) {
		struct watched *w = &watch.mapping[i];
		int state = FREE;

		if (!atomic_compare_exchange_strong(&w->state, &state, CHANGING))
			continue;
		w->object = object;
		w->start = start;
		w->end = end;
		w->offset = offset;
		atomic_store(&w->state, USED);
		return true;
	}
	return false;
}

void posix_dirty_mapped(uint32_t object, const void *address, size_t length, int protection,
			int flags, int64_t offset)
{
	const uintptr_t start = (uintptr_t)address, end = start + posix_whole_pages(length);
	const bool shared =
		(flags & MAP_TYPE) == MAP_SHARED || (flags & MAP_TYPE) == MAP_SHARED_VALIDATE;

	if (!shared || !(protection & PROT_WRITE) || !watching())
		return;
	if (!protect(start, end))
		note("--mmap dirty: a mapping at %#lx is of a kind that cannot be watched",
		     (unsigned long)start);
	else if (!add(object, start, end, offset))
		note("--mmap dirty: more than %d mappings; further ones are not watched", WATCHED);
}

/* ---- the end of an epoch ---- */

struct dirtied {
	struct selection_def def;
	uint64_t block[BLOCKS][2], box[2];
};

static void add_block(struct dirtied *d, uint64_t start, uint64_t count)
{
	if (!d->def.total)
		d->box[0] = start;
	d->box[1] = start + count - d->box[0];
	if (d->def.blocks < BLOCKS) {
		d->block[d->def.blocks][0] = start;
		d->block[d->def.blocks++][1] = count;
	} else {
		d->def.exact = false;
	}
	d->def.total += count;
	d->def.hash = (d->def.hash ^ start) * HASH_FACTOR + count;
}

/* What ranges are added to, and where the file's offset 0 would lie. */
struct epoch {
	struct dirtied *dirtied;
	uint64_t origin;
};

static void add_range(void *to, uint64_t from, uint64_t bytes)
{
	const struct epoch *epoch = to;

	add_block(epoch->dirtied, from - epoch->origin, bytes);
}

/* Pages of the range that were written since the last time; they are protected again. */
static bool scan(struct dirtied *d, uintptr_t start, uintptr_t end, int64_t offset)
{
	struct epoch epoch = {d, start - (uint64_t)offset};
	const long fd = pagemap_open();
	const bool told = fd >= 0 && pagemap_scan(fd, start, end, PAGE_WRITTEN,
						  SCAN_PROTECT | SCAN_CHECK, add_range, &epoch);

	if (fd >= 0)
		raw3(SYS_close, fd, 0, 0);
	return told;
}

static uint32_t epoch(struct call *c, const struct watched *w, uintptr_t start, uintptr_t end)
{
	struct dirtied d = {
		.def = {.form = SELECTION_OF_BYTES, .exact = true, .rank = 1, .unit = 1}};

	if (!scan(&d, start, end, w->offset + (int64_t)(start - w->start)) || !d.def.total)
		return 0;
	d.def.box = d.box;
	d.def.block = d.block[0];
	if (!d.def.exact)
		d.def.blocks = 0;
	else
		d.def.hash = 0;
	return selection_define(c, &d.def);
}

static struct watched *watched_at(uintptr_t start, uintptr_t end)
{
	if (atomic_load_explicit(&watch.pid, memory_order_relaxed) == 0)
		return NULL; /* nothing was ever watched */
	for (int i = 0; i < WATCHED; i++) {
		struct watched *w = &watch.mapping[i];

		if (atomic_load_explicit(&w->state, memory_order_acquire) == USED &&
		    w->start < end && start < w->end)
			return w;
	}
	return NULL;
}

static bool ours(void)
{
	return watch.fd >= 0 && atomic_load(&watch.pid) == (int)raw3(SYS_getpid, 0, 0, 0);
}

uint32_t posix_dirty_epoch(struct call *c, const void *address, size_t length)
{
	const uintptr_t start = (uintptr_t)address, end = start + posix_whole_pages(length);
	const struct watched *w = watched_at(start, end);

	if (!w || !c->thread || !ours())
		return 0;
	return epoch(c, w, start > w->start ? start : w->start, end < w->end ? end : w->end);
}

/* The range is no longer mapped there; what is left of mappings around it still is. */
void posix_dirty_unmapped(const void *address, size_t length)
{
	const uintptr_t start = (uintptr_t)address, end = start + posix_whole_pages(length);
	struct watched *w;

	while ((w = watched_at(start, end))) {
		const struct watched old = *w;

		atomic_store(&w->state, FREE);
		if (old.start < start)
			add(old.object, old.start, start, old.offset);
		if (end < old.end)
			add(old.object, end, old.end, old.offset + (int64_t)(end - old.start));
	}
}
