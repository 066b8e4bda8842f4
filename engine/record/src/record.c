/* The encoder of runtime/core, in a server: its requests, and what it did to the store for them. */
#include "record.h"

#include <string.h>

#include "core/call.h"
#include "core/process.h"
#include "edges/edges.h"

__thread struct entry_site entry_site; /* no Fortran here */

enum { SERVER = 10, DISK = 11 }; /* places in core/layers.h */

/* Accesses to the store first, in the order of enum Access in lib.rs. */
const struct op ops[] = {
	{.layer_name = "disk", .name = "open", .kind = "open", .fields = "",
	 .layer = DISK, .nfields = 0},
	{.layer_name = "disk", .name = "stat", .kind = "meta", .fields = "",
	 .layer = DISK, .nfields = 0},
	{.layer_name = "disk", .name = "setattr", .kind = "meta", .fields = "",
	 .layer = DISK, .nfields = 0},
	{.layer_name = "disk", .name = "rename", .kind = "meta", .fields = "",
	 .layer = DISK, .nfields = 0},
	{.layer_name = "disk", .name = "link", .kind = "meta", .fields = "",
	 .layer = DISK, .nfields = 0},
	{.layer_name = "disk", .name = "unlink", .kind = "meta", .fields = "",
	 .layer = DISK, .nfields = 0},
	{.layer_name = "disk", .name = "mkdir", .kind = "meta", .fields = "",
	 .layer = DISK, .nfields = 0},
	{.layer_name = "disk", .name = "rmdir", .kind = "meta", .fields = "",
	 .layer = DISK, .nfields = 0},
	{.layer_name = "disk", .name = "getdents", .kind = "dir", .fields = "",
	 .layer = DISK, .nfields = 0},
	{.layer_name = "disk", .name = "symlink", .kind = "meta", .fields = "",
	 .layer = DISK, .nfields = 0},
	{.layer_name = "disk", .name = "readlink", .kind = "meta", .fields = "",
	 .layer = DISK, .nfields = 0},
	{.layer_name = "disk", .name = "statvfs", .kind = "meta", .fields = "",
	 .layer = DISK, .nfields = 0},
	{.layer_name = "disk", .name = "pread", .kind = "read", .fields = "size,offset,bytes",
	 .layer = DISK, .nfields = 3, .size_at = 1, .offset_at = 2, .bytes_at = 3,
	 .direction = OP_READS},
	{.layer_name = "disk", .name = "pwritev", .kind = "write", .fields = "size,offset,bytes",
	 .layer = DISK, .nfields = 3, .size_at = 1, .offset_at = 2, .bytes_at = 3,
	 .direction = OP_WRITES},
	{.layer_name = "disk", .name = "fsync", .kind = "sync", .fields = "",
	 .layer = DISK, .nfields = 0},
	{.layer_name = "server", .name = "ping", .kind = "meta", .fields = "queued",
	 .layer = SERVER, .nfields = 1},
	{.layer_name = "server", .name = "status", .kind = "meta", .fields = "queued",
	 .layer = SERVER, .nfields = 1},
	{.layer_name = "server", .name = "lookup", .kind = "meta", .fields = "queued",
	 .layer = SERVER, .nfields = 1},
	{.layer_name = "server", .name = "open", .kind = "open", .fields = "queued",
	 .layer = SERVER, .nfields = 1},
	{.layer_name = "server", .name = "release", .kind = "close", .fields = "queued",
	 .layer = SERVER, .nfields = 1},
	{.layer_name = "server", .name = "getattr", .kind = "meta", .fields = "queued",
	 .layer = SERVER, .nfields = 1},
	{.layer_name = "server", .name = "setattr", .kind = "meta", .fields = "queued",
	 .layer = SERVER, .nfields = 1},
	{.layer_name = "server", .name = "rename", .kind = "meta", .fields = "queued",
	 .layer = SERVER, .nfields = 1},
	{.layer_name = "server", .name = "link", .kind = "meta", .fields = "queued",
	 .layer = SERVER, .nfields = 1},
	{.layer_name = "server", .name = "unlink", .kind = "meta", .fields = "queued",
	 .layer = SERVER, .nfields = 1},
	{.layer_name = "server", .name = "mkdir", .kind = "meta", .fields = "queued",
	 .layer = SERVER, .nfields = 1},
	{.layer_name = "server", .name = "rmdir", .kind = "meta", .fields = "queued",
	 .layer = SERVER, .nfields = 1},
	{.layer_name = "server", .name = "readdir", .kind = "dir", .fields = "queued",
	 .layer = SERVER, .nfields = 1},
	{.layer_name = "server", .name = "symlink", .kind = "meta", .fields = "queued",
	 .layer = SERVER, .nfields = 1},
	{.layer_name = "server", .name = "readlink", .kind = "meta", .fields = "queued",
	 .layer = SERVER, .nfields = 1},
	{.layer_name = "server", .name = "statfs", .kind = "meta", .fields = "queued",
	 .layer = SERVER, .nfields = 1},
	{.layer_name = "server", .name = "read", .kind = "read", .fields = "size,offset,bytes,queued",
	 .layer = SERVER, .nfields = 4, .bytes_at = 3},
	{.layer_name = "server", .name = "write", .kind = "write", .fields = "size,offset,bytes,queued",
	 .layer = SERVER, .nfields = 4, .bytes_at = 3},
	{.layer_name = "server", .name = "append", .kind = "write", .fields = "size,offset,bytes,queued",
	 .layer = SERVER, .nfields = 4, .bytes_at = 3},
	{.layer_name = "server", .name = "commit", .kind = "sync", .fields = "queued",
	 .layer = SERVER, .nfields = 1},
	{.layer_name = "server", .name = "gaps", .kind = "meta", .fields = "queued",
	 .layer = SERVER, .nfields = 1},
};
const uint32_t ops_count = sizeof(ops) / sizeof(ops[0]);

/* The access that this thread is in. */
static __thread struct call current;
static __thread bool accessing;

bool server_begin(const char *run)
{
	if (!process_begin_own(run))
		return false;
	process_started();
	return true;
}

void server_end(void)
{
	process_end();
}

uint64_t server_now(void)
{
	return ticks_now();
}

uint32_t server_op(const char *layer, const char *name)
{
	uint32_t op = 0;

	while (op < ops_count &&
	       (strcmp(ops[op].layer_name, layer) != 0 || strcmp(ops[op].name, name) != 0))
		op++;
	return op < ops_count ? op : UINT32_MAX;
}

static bool moves_data(uint32_t op)
{
	return ops[op].bytes_at != 0;
}

static void set_extent(struct call *c, int64_t size, int64_t offset, int64_t bytes)
{
	c->field[0] = size;
	c->field[1] = offset;
	c->field[2] = bytes;
}

void server_request(const struct server_request *r)
{
	const uint32_t object = r->file >= 0 ? descriptor_object((int)r->file) : 0;
	struct call c;

	if (!call_enter(&c, r->op, object, r->size, r->offset, __builtin_frame_address(0),
			__builtin_return_address(0)))
		return;
	c.began = r->arrived;
	c.error = r->error;
	if (moves_data(r->op))
		set_extent(&c, r->size, r->offset, r->bytes);
	c.field[ops[r->op].nfields - 1] = r->queued;
	if (r->caller.stream)
		call_link(&c, (struct call_ref){r->caller.stream, r->caller.seq}, LINK_SERVES,
			  (uint64_t)r->bytes, 100);
	call_leave(&c, ticks_now());
}

void server_enter(uint32_t op, int file, const char *path, int64_t size, int64_t offset)
{
	const uint32_t object = path ? path_object(file, path) : descriptor_object(file);

	accessing = call_enter(&current, op, object, size, offset, __builtin_frame_address(0),
			       __builtin_return_address(0));
	if (accessing && moves_data(op))
		set_extent(&current, size, offset, 0);
}

void server_leave(int32_t error, int64_t bytes, const struct server_caller *callers, size_t count,
		  bool together)
{
	const uint64_t ended = ticks_now();

	if (!accessing)
		return;
	accessing = false;
	current.error = error;
	if (moves_data(current.op))
		current.field[2] = bytes;
	for (size_t i = 0; i < count; i++)
		if (callers[i].stream)
			call_link(&current, (struct call_ref){callers[i].stream, callers[i].seq},
				  together ? LINK_CARRIES : LINK_SERVES, callers[i].bytes, 100);
	call_leave(&current, ended);
}

void server_closed(int file)
{
	descriptor_close(file);
}
