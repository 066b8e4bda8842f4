/* The encoder of runtime/core, in a server: its requests, and what it did to the store for them. */
#include "record.h"

#include <fcntl.h>
#include <string.h>

#include "core/call.h"
#include "core/ops.h"
#include "core/layers.h"
#include "core/process.h"
#include "edges/edges.h"

__thread struct entry_site entry_site; /* no Fortran here */

/* Calls without data, accesses to the store that move data, and requests that do. */
#define ACCESS(NAME, KIND)                                                                         \
	{                                                                                          \
		.layer_name = "disk", .name = NAME, .kind = KIND, .fields = "",                    \
		.layer = LAYER_DISK                                                                \
	}
#define TRANSFER(NAME, KIND, DIRECTION)                                                            \
	{                                                                                          \
		.layer_name = "disk", .name = NAME, .kind = KIND, .fields = "size,offset,bytes",   \
		.layer = LAYER_DISK, .nfields = 3, .size_at = 1, .offset_at = 2, .bytes_at = 3,    \
		.direction = DIRECTION                                                             \
	}
#define REQUEST(NAME, KIND)                                                                        \
	{                                                                                          \
		.layer_name = "server", .name = NAME, .kind = KIND, .fields = "queued",            \
		.layer = LAYER_SERVER, .nfields = 1                                                \
	}
#define DATA_REQUEST(NAME, KIND)                                                                   \
	{                                                                                          \
		.layer_name = "server", .name = NAME, .kind = KIND,                                \
		.fields = "size,offset,bytes,queued", .layer = LAYER_SERVER, .nfields = 4,         \
		.bytes_at = 3                                                                      \
	}
#define PULLING_REQUEST(NAME, KIND)                                                                \
	{                                                                                          \
		.layer_name = "server", .name = NAME, .kind = KIND,                                \
		.fields = "size,offset,bytes,queued,pulled", .layer = LAYER_SERVER, .nfields = 5,  \
		.bytes_at = 3                                                                      \
	}

/* Of servers that are asked what they did: past_rows.c. */
#define PAST_REQUEST(NAME, KIND)                                                                   \
	{                                                                                          \
		.layer_name = "server", .name = NAME, .kind = KIND,                                \
		.fields = "size,offset,bytes,queued,unit,stride", .layer = LAYER_SERVER,           \
		.nfields = 6, .bytes_at = 3                                                        \
	}

/* Accesses to the store first, in the order of enum Access in lib.rs. */
const struct op ops[] = {
	ACCESS("open", "open"),
	ACCESS("stat", "meta"),
	ACCESS("setattr", "meta"),
	ACCESS("rename", "meta"),
	ACCESS("link", "meta"),
	ACCESS("unlink", "meta"),
	ACCESS("mkdir", "meta"),
	ACCESS("mknod", "meta"),
	ACCESS("rmdir", "meta"),
	ACCESS("getdents", "dir"),
	ACCESS("symlink", "meta"),
	ACCESS("readlink", "meta"),
	ACCESS("statvfs", "meta"),
	TRANSFER("pread", "read", OP_READS),
	TRANSFER("pwritev", "write", OP_WRITES),
	ACCESS("fsync", "sync"),
	REQUEST("ping", "meta"),
	REQUEST("status", "meta"),
	REQUEST("record", "meta"),
	REQUEST("lookup", "meta"),
	REQUEST("open", "open"),
	REQUEST("release", "close"),
	REQUEST("getattr", "meta"),
	REQUEST("setattr", "meta"),
	REQUEST("rename", "meta"),
	REQUEST("link", "meta"),
	REQUEST("unlink", "meta"),
	REQUEST("mkdir", "meta"),
	REQUEST("mknod", "meta"),
	REQUEST("rmdir", "meta"),
	REQUEST("readdir", "dir"),
	REQUEST("symlink", "meta"),
	REQUEST("readlink", "meta"),
	REQUEST("statfs", "meta"),
	DATA_REQUEST("read", "read"),
	PULLING_REQUEST("write", "write"),
	PULLING_REQUEST("append", "write"),
	REQUEST("commit", "sync"),
	REQUEST("gaps", "meta"),
	REQUEST("lock", "meta"),
	REQUEST("unlock", "meta"),
	REQUEST("locked", "meta"),
	REQUEST("call", "meta"),
	REQUEST("seek", "meta"),
	REQUEST("allocate", "meta"),
	REQUEST("getxattr", "meta"),
	REQUEST("setxattr", "meta"),
	REQUEST("listxattr", "meta"),
	REQUEST("removexattr", "meta"),
	REQUEST("relay", "comm"),
	DATA_REQUEST("relay_read", "comm"),
	PULLING_REQUEST("relay_write", "comm"),
	PAST_REQUEST("osd_read", "read"),
	PAST_REQUEST("osd_write", "write"),
	REQUEST("osd_call", "meta"),
	TRANSFER("fetch", "read", OP_READS),
	TRANSFER("commit", "write", OP_WRITES),
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

bool server_attach(const char *settings)
{
	if (!process_attach(settings, true))
		return false;
	process_started();
	return true;
}

const char *server_run(void)
{
	return process_run();
}

void server_end(void)
{
	process_detach();
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

/* Behind the ops above, where a run's own have their place. */
uint32_t server_new_op(const char *name)
{
	static uint32_t named;
	struct op *all = ops_with_room();
	char *copy = all && named < OPS_BROUGHT ? strdup(name) : NULL;

	if (!copy)
		return UINT32_MAX;
	all[ops_count + named] = (struct op)REQUEST(copy, "meta");
	return ops_count + named++;
}

static bool moves_data(uint32_t op)
{
	return op_of(op)->bytes_at != 0;
}

static void set_extent(struct call *c, int64_t size, int64_t offset, int64_t bytes)
{
	c->field[0] = size;
	c->field[1] = offset;
	c->field[2] = bytes;
}

static uint32_t object_of(const struct server_place *place)
{
	if (place->path || place->file < 0)
		return place->known_as ? path_object(AT_FDCWD, place->known_as)
				       : path_object(place->file, place->path);
	return place->known_as ? descriptor_stands_for(place->file, place->known_as)
			       : descriptor_object(place->file);
}

/* The calls that a row is linked to. */
static void link_all(struct call *c, const struct server_caller *callers, size_t count,
		     enum link_kind kind)
{
	for (size_t i = 0; i < count; i++)
		if (callers[i].stream)
			call_link(c, (struct call_ref){callers[i].stream, callers[i].seq}, kind,
				  callers[i].bytes, 100);
}

void server_request(const struct server_request *r)
{
	const struct server_place place = {.file = (int)r->file, .known_as = r->known_as};
	const uint32_t object = object_of(&place);
	struct call c;

	if (!call_enter(&c, r->op, object, r->size, r->offset, __builtin_frame_address(0),
			__builtin_return_address(0)))
		return;
	c.began = r->arrived;
	c.error = r->error;
	if (moves_data(r->op)) {
		set_extent(&c, r->size, r->offset, r->bytes);
		c.field[3] = r->queued;
		c.field[4] = r->pulled; /* of writes; no column of others */
	} else {
		c.field[0] = r->queued;
	}
	link_all(&c, r->callers, r->count, LINK_SERVES);
	call_leave(&c, ticks_now());
}

void server_enter(uint32_t op, const struct server_place *place, int64_t size, int64_t offset)
{
	const uint32_t object = object_of(place);

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
	link_all(&current, callers, count, together ? LINK_CARRIES : LINK_SERVES);
	call_leave(&current, ended);
}

void server_closed(int file)
{
	descriptor_close(file);
}
