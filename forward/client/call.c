/* What all calls have in common. */
#include "call.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "user/fathom.h"

enum {
	DEFAULT_TIMEOUT = 60000, /* ms, where neither caller nor server has one */
	GRACE = 1000, /* ms at most that the server's own ETIMEDOUT, which says more, may take */
};

static const char locks_were_lost[] =
	"its locks were lost: the server was started anew, or the connection was away";

static const char *const op_names[] = {
	[FWD_OP_PING] = "ping",         [FWD_OP_STATUS] = "status",   [FWD_OP_LOOKUP] = "lookup",
	[FWD_OP_OPEN] = "open",         [FWD_OP_RELEASE] = "release", [FWD_OP_GETATTR] = "getattr",
	[FWD_OP_SETATTR] = "setattr",   [FWD_OP_RENAME] = "rename",   [FWD_OP_LINK] = "link",
	[FWD_OP_UNLINK] = "remove",     [FWD_OP_MKDIR] = "mkdir",     [FWD_OP_RMDIR] = "remove",
	[FWD_OP_READDIR] = "readdir",   [FWD_OP_SYMLINK] = "symlink", [FWD_OP_STATFS] = "statfs",
	[FWD_OP_READLINK] = "readlink", [FWD_OP_READ] = "read",       [FWD_OP_WRITE] = "write",
	[FWD_OP_APPEND] = "append",     [FWD_OP_COMMIT] = "commit",   [FWD_OP_GAPS] = "gaps",
	[FWD_OP_MKNOD] = "mknod",       [FWD_OP_LOCK] = "lock",       [FWD_OP_UNLOCK] = "unlock",
	[FWD_OP_LOCKED] = "locked",     [FWD_OP_CALL] = "call",
};

static const struct fathom_fwd_handle root;

const struct fathom_fwd_handle *or_root(const struct fathom_fwd_handle *handle)
{
	return handle ? handle : &root;
}

/* The caller's name for a request's file, else the first half of its handle. Made when something is said of it: it
 * would be most of what a small request costs. */
static const char *file_of(const struct fathom_fwd_request *r, char out[FILE_BYTES])
{
	char *at = out;

	if (!r || *r->file)
		return r ? r->file : "a file";
	if (!memcmp(&r->handle, &root, sizeof(root)))
		return "the exported root";
	at += snprintf(out, FILE_BYTES, "handle ");
	for (size_t i = 0; i < sizeof(r->handle.bytes) / 2; i++)
		at += sprintf(at, "%02x", r->handle.bytes[i]);
	return out;
}

static uint32_t timeout_of(const struct call *k)
{
	if (k->hints->timeout)
		return k->hints->timeout;
	if (k->client->timeout)
		return k->client->timeout;
	return k->client->server.deadline ? k->client->server.deadline : DEFAULT_TIMEOUT;
}

/* The client engine's part of a call begins: its lock is held until call_end. */
void call_resume(struct call *k, struct fathom_fwd *c, struct fathom_fwd_hints *hints,
		 struct fathom_fwd_request *r)
{
	*k = (struct call){.client = c, .hints = hints ? hints : &k->none, .request = r};
	k->errno_before = errno;
	k->hints->error.code = 0;
	k->hints->by_path = 0;
	engine_lock(c);
}

static size_t hint_bytes(const struct fathom_fwd_hints *hints)
{
	size_t bytes = 2;

	for (uint16_t i = 0; i < hints->count; i++)
		bytes += 4 + (size_t)hints->hint[i].length;
	return bytes;
}

static void describe(struct call *k, uint16_t op, const struct fathom_fwd_handle *file)
{
	struct fathom_fwd_request *r = k->request;
	uint32_t timeout = timeout_of(k);

	r->head = (struct frame){.kind = FWD_KIND_REQUEST,
				 .op = op,
				 .deadline = timeout,
				 .call_stream = k->hints->call_stream,
				 .call_seq = k->hints->call_seq};
	if (!r->head.call_stream)
		fathom_current(&r->head.call_stream, &r->head.call_seq);
	r->due = now_ms() + timeout + (timeout / 4 < GRACE ? timeout / 4 : GRACE);
	r->handle = *file;
	r->locked = k->hints->locked;
	r->owner = k->hints->owner;
	r->owners = k->hints->owners;
	r->path = k->hints->path;
	r->paths = k->hints->paths;
	if (k->hints->file)
		snprintf(r->file, sizeof(r->file), "%s", k->hints->file);
}

int call_begin(struct call *k, struct fathom_fwd *c, struct fathom_fwd_hints *hints, uint16_t op,
	       const struct fathom_fwd_handle *file, size_t room, uint64_t data)
{
	call_resume(
		k, c, hints,
		malloc(sizeof(*k->request))); /* calloc takes nothing that the thread has freed */
	if (!k->request)
		return call_fail(k, ENOMEM, "");
	memset(k->request, 0, sizeof(*k->request));
	describe(k, op, or_root(file));
	room += hint_bytes(k->hints) + (data <= c->server.inline_bytes ? (size_t)data : 0);
	k->request->body = malloc(room);
	if (!k->request->body)
		return call_fail(k, ENOMEM, "");
	k->w = (struct writer){.at = k->request->body, .end = k->request->body + room};
	return 0;
}

void call_hints(struct call *k)
{
	k->request->hints_at = (uint32_t)(k->w.at - k->request->body);
	put_hints(&k->w, k->hints->hint, k->hints->count);
}

static const char *about_server(const struct fathom_fwd *c)
{
	if (c->broken_rule)
		return c->broken_rule;
	if (*c->why)
		return c->why;
	return c->trouble ? strerror(c->trouble) : "it does not answer";
}

/* Which bytes: names have none, and where an append goes is the server's to say. */
static void put_range(char *out, size_t size, const struct fathom_fwd_request *r)
{
	unsigned long long bytes = r->length, offset = r->offset;

	if (!bytes)
		*out = 0;
	else if (r->head.op == FWD_OP_APPEND)
		snprintf(out, size, " (%llu bytes)", bytes);
	else
		snprintf(out, size, " (%llu bytes at %llu)", bytes, offset);
}

int call_fail(struct call *k, int code, const char *why)
{
	struct fathom_fwd_error *e = &k->hints->error;
	const struct fathom_fwd_request *r = k->request;
	char file[FILE_BYTES], range[64] = "";

	*e = (struct fathom_fwd_error){.code = code};
	if (r) {
		e->offset = r->offset;
		e->length = r->length;
		put_range(range, sizeof(range), r);
	}
	snprintf(e->server, sizeof(e->server), "%s", k->client->address);
	snprintf(e->what, sizeof(e->what), "%s of %s%s: %s%s%s",
		 r ? op_names[r->head.op] : "a call", file_of(r, file), range, strerror(code),
		 *why ? ": " : "", why);
	return k->code = code;
}

/* The request could not be asked, or had no answer. */
static int no_answer(struct call *k, int code)
{
	char why[400];

	switch (code) {
	case ETIMEDOUT:
		snprintf(why, sizeof(why),
			 "server %.150s: %.120s; whether it was done is unknown; "
			 "see if it runs (fathom forward status)",
			 k->client->address, about_server(k->client));
		break;
	case EIO:
		snprintf(why, sizeof(why), "%s; whether it was done is unknown", locks_were_lost);
		break;
	case ECHILD:
		snprintf(why, sizeof(why), "it was posted before fork, by the parent");
		break;
	default:
		snprintf(why, sizeof(why), "server %.150s%s%.150s", k->client->address,
			 *k->client->why ? ": " : "", k->client->why);
	}
	return call_fail(k, code, why);
}

/* The server answered that it failed; it says more than we can. */
static int server_failed(struct call *k)
{
	struct fathom_fwd_error *e = &k->hints->error;
	uint32_t status = k->request->reply_head.status;
	struct failure failure = get_failure(&k->r);
	char file[FILE_BYTES];

	if (!get_end(&k->r))
		return call_fail(k, EPROTO, "the server's answer is cut");
	*e = (struct fathom_fwd_error){.code = frame_errno(status),
				       .status = status,
				       .offset = failure.offset,
				       .length = failure.length};
	snprintf(e->server, sizeof(e->server), "%s", k->client->address);
	snprintf(e->what, sizeof(e->what), "%s of %s: %.*s", op_names[k->request->head.op],
		 file_of(k->request, file), failure.what.length, failure.what.at);
	return k->code = e->code;
}

/* The body with its data follows the header; long data is pulled. */
static void seal(struct call *k)
{
	struct fathom_fwd_request *r = k->request;

	if (r->memory.bytes && r->head.op != FWD_OP_READ) {
		if (r->memory.bytes > k->client->server.inline_bytes ||
		    r->memory.bytes > (uint64_t)(k->w.end - k->w.at)) {
			r->head.flags |= FWD_FLAG_PULL;
		} else {
			memory_get(&r->memory, 0, k->w.at, r->memory.bytes);
			k->w.at += r->memory.bytes;
			memory_free(&r->memory);
		}
	}
	r->head.body = (uint32_t)(k->w.at - r->body);
	if (k->client->checksum) {
		r->head.flags |= FWD_FLAG_BODY_CRC;
		r->head.body_crc = frame_crc(0, r->body, r->head.body);
	}
}

int call_post(struct call *k)
{
	int error;

	if (k->code)
		return k->code;
	if (k->w.full)
		return call_fail(k, EMSGSIZE, "a path or a hint is too long");
	if (k->request->locked & FATHOM_FWD_BY_CLIENT &&
	    locks_are_lost(&k->client->locks, k->request))
		return call_fail(k, EIO, locks_were_lost);
	seal(k);
	error = engine_post(k->client, k->request);
	return error ? no_answer(k, error) : 0;
}

/* Whose it is has the file open. */
static bool holds(uint16_t op)
{
	return op == FWD_OP_READ || op == FWD_OP_WRITE || op == FWD_OP_APPEND ||
	       op == FWD_OP_COMMIT;
}

int call_wait(struct call *k)
{
	struct fathom_fwd_request *r = k->request;
	int error = k->code ? 0 : engine_wait(k->client, r);

	if (k->code)
		return k->code;
	if (error)
		return no_answer(k, error);
	k->hints->by_path = r->has_paths && holds(r->head.op);
	k->r = (struct reader){.at = r->reply, .end = r->reply + r->reply_head.body};
	return r->reply_head.status ? server_failed(k) : 0;
}

int call_ask(struct call *k)
{
	call_hints(k);
	return call_post(k) ? k->code : call_wait(k);
}

int call_end(struct call *k)
{
	if (!k->code && k->request && k->r.at && !get_end(&k->r))
		call_fail(k, EPROTO, "the server's answer is not what the protocol says");
	if (k->request)
		engine_drop(k->client, k->request);
	engine_unlock(k->client);
	errno = k->errno_before;
	return k->code;
}
