/* Mappings of files, by their address: so that munmap and msync know their file. */
#include "handlers/posix.h"

/* The call itself stays with the file; what is done with the mapping later has the file as parent. */
void posix_mapped(struct call *c, void *address, size_t length, int fd)
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
}

/* Before the call: right after it the address may be another's. */
void posix_unmapping(struct call *c, const void *address)
{
	c->scratch[0] = handle_take(&mappings, 0, (uintptr_t)address);
}

void posix_unmapped(struct call *c, const void *address, int result)
{
	if (result != 0 && c->scratch[0])
		handle_put(&mappings, 0, (uintptr_t)address, c->scratch[0]);
}

void posix_remapped(struct call *c, const void *address, void *moved)
{
	const void *now = moved == MAP_FAILED ? address : moved;

	if (c->scratch[0])
		handle_put(&mappings, 0, (uintptr_t)now, c->scratch[0]);
}
