/* Mappings of files, by their address: so that munmap and msync know their file. */
#include "handlers/posix.h"
#include "handlers/uring.h"

enum { KEEP_OBJECT, KEEP_SELECTION };

/* The call itself stays with the file; what is done with the mapping later has the file as parent. */
void posix_mapped(struct call *c, void *address, size_t length, int protection, int flags, int fd,
		  int64_t offset)
{
	struct object_def def = {.parent = c->object, .numbers = 2};
	uint32_t object;

	if (address == MAP_FAILED || fd < 0)
		return;
	def.number[0] = (uintptr_t)address;
	def.number[1] = length;
	object = object_define(c, OBJECT_MAPPING, &def);
	if (object)
		handle_put(&mappings, 0, (uintptr_t)address, object);
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
	c->scratch[KEEP_OBJECT] = handle_take(&mappings, 0, (uintptr_t)address);
	posix_syncing(c, address, length);
}

void posix_unmapped(struct call *c, const void *address, size_t length, int result)
{
	if (result == 0)
		posix_dirty_unmapped(address, length);
	else if (c->scratch[KEEP_OBJECT])
		handle_put(&mappings, 0, (uintptr_t)address, c->scratch[KEEP_OBJECT]);
}

/* Where it lies now it is not watched: the kernel lets go of what moves. */
void posix_remapped(struct call *c, const void *address, size_t length, void *moved)
{
	const void *now = moved == MAP_FAILED ? address : moved;

	if (moved != MAP_FAILED)
		posix_dirty_unmapped(address, length);
	if (c->scratch[KEEP_OBJECT])
		handle_put(&mappings, 0, (uintptr_t)now, c->scratch[KEEP_OBJECT]);
}
