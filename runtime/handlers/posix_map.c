/* Where files lie in memory: so that munmap, mremap and msync know their file, those of other memory are no I/O, and at
 * the end of a mapping it is known how much of the file the program has used there. */
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <sys/mman.h>

#include "handlers/posix.h"
#include "handlers/uring.h"
#include "ops.h"

enum { KEEP_OBJECT, KEEP_SELECTION, KEEP_USED, KEEP_OFFSET };
enum { PLACES = 8192, FREE = 0, CHANGING = 1 };

/* The handle of `start` is the mapping's object. A forked child has these places too, without objects. */
static struct place {
	_Atomic uintptr_t start, end;
	_Atomic int64_t offset; /* in the file, of start */
} places[PLACES];
static _Atomic int ever;  /* as many of them were ever in use at once */
static _Atomic bool full; /* from then on all memory counts as a file's */

static void add(uintptr_t start, uintptr_t end, uint64_t object, int64_t offset)
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
		atomic_store(&places[i].offset, offset);
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
		const int64_t offset = atomic_load(&place->offset);

		if (from < start) {
			atomic_store(&place->end, start);
		} else {
			atomic_store(&place->start, FREE);
			handle_take(&mappings, 0, from);
		}
		if (end < to)
			add(end, to, object, offset + (int64_t)(end - from));
	}
}

/* Of no length, which mremap takes for a second mapping of the same: the page. */
bool posix_maps(const void *address, size_t length)
{
	const uintptr_t start = (uintptr_t)address;

	return place_in(start, start + posix_whole_pages(length ? length : 1)) ||
	       atomic_load(&full);
}

static struct place *place_at(const void *address)
{
	return place_in((uintptr_t)address, (uintptr_t)address + 1);
}

static uint32_t object_of(const struct place *place)
{
	return place ? (uint32_t)handle_get(&mappings, 0, atomic_load(&place->start)) : 0;
}

uint32_t posix_mapping_at(const void *address)
{
	return object_of(place_at(address));
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
	add(start, start + posix_whole_pages(length), object, offset);
	process_at_end(posix_maps_at_end);
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

int64_t posix_used(const struct call *c)
{
	return (int64_t)c->scratch[KEEP_USED];
}

/* Before the call: right after it the address may be another's. */
void posix_moving(struct call *c, const void *address, size_t length)
{
	const uintptr_t start = (uintptr_t)address;
	const struct place *place = place_at(address);

	c->scratch[KEEP_OBJECT] = object_of(place);
	c->scratch[KEEP_OFFSET] =
		place ? (uint64_t)(atomic_load(&place->offset) + (int64_t)(start - place->start))
		      : 0;
	posix_syncing(c, address, length);
	cut(start, start + posix_whole_pages(length));
}

void posix_unmapping(struct call *c, const void *address, size_t length)
{
	c->scratch[KEEP_USED] = 0;
	if (c->thread && call_reference(c).stream) {
		c->scratch[KEEP_USED] = (uint64_t)posix_resident((uintptr_t)address, length);
		c->began = ticks_now(); /* what we asked is none of the program's time */
	}
	posix_moving(c, address, length);
}

void posix_unmapped(struct call *c, const void *address, size_t length, int result)
{
	const uintptr_t start = (uintptr_t)address;

	if (result == 0)
		posix_dirty_unmapped(address, length);
	else
		add(start, start + posix_whole_pages(length), c->scratch[KEEP_OBJECT],
		    (int64_t)c->scratch[KEEP_OFFSET]);
}

/* Where it lies now it is not watched: the kernel lets go of what moves. */
void posix_remapped(struct call *c, const void *address, size_t length, size_t wanted, void *moved)
{
	const bool failed = moved == MAP_FAILED;
	const uintptr_t now = (uintptr_t)(failed ? address : moved);

	if (!failed)
		posix_dirty_unmapped(address, length);
	add(now, now + posix_whole_pages(failed ? length : wanted), c->scratch[KEEP_OBJECT],
	    (int64_t)c->scratch[KEEP_OFFSET]);
}

/* ---- the end of the program ---- */

/* A fork's child has its parent's mappings, and no object for them: their file has the name that the kernel knows. */
static uint32_t inherited(uintptr_t start)
{
	char path[PATH_MAX];

	return posix_mapped_path(start, path, sizeof(path)) ? path_object(AT_FDCWD, path) : 0;
}

static void still_mapped(const struct place *place)
{
	const uintptr_t start = atomic_load(&place->start);
	const size_t length = atomic_load(&place->end) - start;
	uint32_t object = object_of(place);
	const int64_t offset = atomic_load(&place->offset), used = posix_resident(start, length);
	struct call c;

	/* A child that has used nothing of its parent's mapping has nothing to tell. */
	if ((used < 0 || (!object && !used)) && !mapped_writes_wanted())
		return;
	if (!object && used > 0)
		object = inherited(start);
	if (!call_enter(&c, OP_POSIX_MAPPED, object, (int64_t)length, offset,
			__builtin_frame_address(0), __builtin_return_address(0)))
		return;
	c.field[0] = (int64_t)length;
	c.field[1] = offset;
	c.field[2] = posix_dirty_epoch(&c, (void *)start, length);
	c.field[3] = used;
	call_leave(&c, c.began);
}

void posix_maps_at_end(void)
{
	for (int i = 0; i < atomic_load(&ever); i++)
		if (atomic_load(&places[i].start) > CHANGING)
			still_mapped(&places[i]);
}
