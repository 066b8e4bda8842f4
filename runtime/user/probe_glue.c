/* Part of a library of the user's own probes, not of libfathom.so: what its wrappers call goes on to libfathom.
 * Included behind the generated tables, in one file (python/fathom/catalog/user.py). */
#include "user/probe.h"

static const struct probe_calls *calls;
static uint32_t first_op;

bool call_enter(struct call *c, uint32_t op, uint32_t object, int64_t size, int64_t offset,
		const void *frame, const void *site)
{
	return calls->enter(c, first_op + op, object, size, offset, frame, site);
}

void call_leave(struct call *c, uint64_t ended)
{
	calls->leave(c, ended);
}

void call_cancel(struct call *c, uint64_t ended)
{
	calls->cancel(c, ended);
}

bool layer_on(uint8_t layer)
{
	return calls->layer_on(layer);
}

bool call_inside(uint8_t layer)
{
	return calls->inside(layer);
}

uint64_t ticks_now(void)
{
	return calls->ticks();
}

void call_text(struct call *c, const char *name, const char *value)
{
	calls->text(c, name, value);
}

void call_path(struct call *c, const char *name, int dirfd, const char *path)
{
	calls->path(c, name, dirfd, path);
}

uint32_t path_object(int dirfd, const char *path)
{
	return calls->path_object(dirfd, path);
}

uint32_t named_object(uint32_t parent, const char *name)
{
	return calls->named_object(parent, name);
}

uint32_t descriptor_object(int fd)
{
	return calls->descriptor_object(fd);
}

int64_t descriptor_position(int fd)
{
	return calls->descriptor_position(fd);
}

int64_t descriptor_advance(int fd, int64_t from, int64_t bytes)
{
	return calls->descriptor_advance(fd, from, bytes);
}

uint32_t probe_handle(uint32_t api, uint64_t handle)
{
	return calls->handle(api, handle);
}

const char *probe_name(uint32_t api, uint64_t handle)
{
	return calls->name(api, handle);
}

void probe_opens(uint32_t api, uint64_t handle, uint32_t object, const char *name)
{
	calls->opens(api, handle, object, name);
}

void probe_closes(uint32_t api, uint64_t handle)
{
	calls->closes(api, handle);
}

__attribute__((visibility("default"))) struct probes fathom_probes = {
	.version = PROBES_VERSION,
	.ops_count = OPS_COUNT,
	.ops = ops,
	.tables = {edge_apis, edge_symbols, sizeof(edge_apis) / sizeof(*edge_apis),
		   sizeof(edge_symbols) / sizeof(*edge_symbols), EDGES_COUNT},
	.wrappers = edge_wrappers,
	.originals = edge_originals,
	.calls = &calls,
	.first_op = &first_op,
};
