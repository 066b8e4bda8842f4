/* Where files lie in memory: so that munmap, mremap and msync know their file, and those of other memory are no I/O. */
#include <stdatomic.h>
#include <sys/mman.h>

#include "handlers/posix.h"
#include "handlers/uring.h"

enum { KEEP_OBJECT, KEEP_SELECTION };
enum { PLACES = 8192, FREE = 0, CHANGING = 1 };

/* The handle of `start` is the mapping's object. A forked child has these places too, without objects. */
static struct place {
	_Atomic uintptr_t start, end;
} places[PLACES];
static _Atomic int ever;  /* as many of them were ever in use at once */
static _Atomic bool full; /* from then on all memory counts as a file's */

static void add(uintptr_t start, uintptr_t end, uint64_t object)
{
	if (object)
		handle_put(&mappings, 0, start, object);
	for (int i = 0; i < PLACES; i++) {
		uintptr_t state = FREE;
		int used = atomic_load(&ever);

		if (atomic_load_explicit(&places[i].start, memory_order_relaxed) != FREE ||
		    !atomic_compare_exchange_strong(&places[i].start, &state, CHANGING))
			continue;
		atomic_store(&places[i].end, end);
		atomic_store(&places[i].start, start);
		while (used <= i && !atomic_compare_exchange_weak(&ever, &used, i + 1))
			;
		return;
	}
	atomic_store(&full, true);
}

static struct place *place_in(uintptr_t start, uintptr_t end)
{
	const int used = atomic_load_explicit(&ever, memory_order_acquire);

	for (int i = 0; i < used; i++) {
		const uintptr_t at = atomic_load_explicit(&places[i].start, memory_order_acquire);

		if (at > CHANGING && at < end && start < atomic_load(&places[i].end))
			return &places[i];
	}
	return NULL;
}

/* What is left of the mappings around the range stays. */
static void cut(uintptr_t start, uintptr_t end)
{
	struct place *place;

	while ((place = place_in(start, end))) {
		const uintptr_t from = atomic_load(&place->start), to = atomic_load(&place->end);
		const uint64_t object = handle_get(&mappings, 0, from);

		if (from < start) {
			atomic_store(&place->end, start);
		} else {
			atomic_store(&place->start, FREE);
			handle_take(&mappings, 0, from);
		}
		if (end < to)
			add(end, to, object);
	}
}

/* Of no length, which mremap takes for a second mapping of the same: the page. */
bool posix_maps(const void *address, size_t length)
{
	const uintptr_t start = (uintptr_t)address;

	return place_in(start, start + posix_whole_pages(length ? length : 1)) ||
	       atomic_load(&full);
}

uint32_t posix_mapping_at(const void *address)
{
	const struct place *place = place_in((uintptr_t)address, (uintptr_t)address + 1);

	return place ? (uint32_t)handle_get(&mappings, 0, atomic_load(&place->start)) : 0;
}

/* The call itself stays with the file; what is done with the mapping later has the file as parent. */
void posix_mapped(struct call *c, void *address, size_t length, int protection, int flags, int fd,
		  int64_t offset)
{
	struct object_def def = {.parent = c->object, .numbers = 2};
	const uintptr_t start = (uintptr_t)address;
	uint32_t object;

	if (address == MAP_FAILED || fd < 0)
		return;
	def.number[0] = start;
	def.number[1] = length;
	object = object_define(c, OBJECT_MAPPING, &def);
	cut(start, start + posix_whole_pages(length)); /* MAP_FIXED: what lay there is gone */
	add(start, start + posix_whole_pages(length), object);
	posix_dirty_mapped(object, address, length, protection, flags, offset);
	uring_mapped(fd, offset);
}

void posix_syncing(struct call *c, const void *address, size_t length)
{
	c->scratch[KEEP_SELECTION] = posix_dirty_epoch(c, address, length);
}

int64_t posix_selection(const struct call *c)
{
	return (int64_t)c->scratch[KEEP_SELECTION];
}

/* Before the call: right after it the address may be another's. */
void posix_unmapping(struct call *c, const void *address, size_t length)
{
	const uintptr_t start = (uintptr_t)address;

	c->scratch[KEEP_OBJECT] = posix_mapping_at(address);
	posix_syncing(c, address, length);
	cut(start, start + posix_whole_pages(length));
}

void posix_unmapped(struct call *c, const void *address, size_t length, int result)
{
	const uintptr_t start = (uintptr_t)address;

	if (result == 0)
		posix_dirty_unmapped(address, length);
	else
		add(start, start + posix_whole_pages(length), c->scratch[KEEP_OBJECT]);
}

/* Where it lies now it is not watched: the kernel lets go of what moves. */
void posix_remapped(struct call *c, const void *address, size_t length, size_t wanted, void *moved)
{
	const bool failed = moved == MAP_FAILED;
	const uintptr_t now = (uintptr_t)(failed ? address : moved);

	if (!failed)
		posix_dirty_unmapped(address, length);
	add(now, now + posix_whole_pages(failed ? length : wanted), c->scratch[KEEP_OBJECT]);
}
