/* fathom_fwd.h: reads, writes, appends, commits; blocking ones are posted and waited for. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "call.h"
#include "compress.h"

enum {
	FIELDS = 64, /* of these requests, but their extents */
	EXTENT_BYTES = 16,
	FAILED_BYTES = 60, /* of a range in the reply to commit */
	GAP_BYTES = 36,
};

/* What a read or a write covers; a request takes a part of it. */
struct vectors {
	const struct iovec *memory;
	uint32_t memories;
	const struct fathom_fwd_extent *extents;
	uint32_t n;
	uint64_t bytes; /* of memory that go with the extents */
	uint64_t from;  /* first byte of memory */
};

static uint64_t extents_length(const struct fathom_fwd_extent *extents, uint32_t n)
{
	uint64_t sum = 0, end;

	for (uint32_t i = 0; i < n; i++)
		if (__builtin_add_overflow(sum, extents[i].length, &sum) ||
		    __builtin_add_overflow(extents[i].offset, extents[i].length, &end))
			return UINT64_MAX;
	return sum;
}

/* The smallest range that has all extents: what messages name. */
static void name_range(struct fathom_fwd_request *r, const struct fathom_fwd_extent *extents,
		       uint32_t n)
{
	uint64_t low = n ? extents[0].offset : 0, high = low;

	for (uint32_t i = 0; i < n; i++) {
		uint64_t end = extents[i].offset + extents[i].length;

		low = extents[i].offset < low ? extents[i].offset : low;
		high = end > high ? end : high;
	}
	r->offset = low;
	r->length = high - low;
}

static void wish_level(struct call *k)
{
	if (k->hints->level == FATHOM_FWD_ACCEPTED)
		k->request->head.flags |= FWD_FLAG_NONBLOCKING;
	if (k->hints->level == FATHOM_FWD_SYNCED)
		k->request->head.flags |= FWD_FLAG_SYNC;
}

/* The answer says of each how much was read. */
static int keep_extents(struct fathom_fwd_request *r, const struct vectors *v)
{
	r->extents = v->n == 1 ? &r->extent : malloc(v->n * sizeof(*r->extents) + 1);
	if (!r->extents)
		return ENOMEM;
	memcpy(r->extents, v->extents, v->n * sizeof(*r->extents));
	r->n = v->n;
	return 0;
}

/* Posts one read or write; k is left for call_wait or call_end. */
static int post_vectors(struct call *k, struct fathom_fwd *client, uint16_t op,
			const struct fathom_fwd_handle *handle, const struct vectors *v,
			struct fathom_fwd_hints *hints)
{
	size_t room = FIELDS + (size_t)v->n * EXTENT_BYTES;
	uint64_t data = op == FWD_OP_READ ? 0 : v->bytes;
	struct fathom_fwd_request *r;

	if (call_begin(k, client, hints, op, handle, room, data))
		return k->code;
	r = k->request;
	name_range(r, v->extents, v->n);
	if (v->bytes > client->server.data || v->n > FWD_LIMIT_EXTENTS)
		return call_fail(k, EMSGSIZE, "more than the server takes in one request");
	if (memory_take(&r->memory, v->memory, v->memories, v->from, v->bytes) ||
	    (op == FWD_OP_READ && keep_extents(r, v)))
		return call_fail(k, ENOMEM, "");
	wish_level(k);
	put_extents(&k->w, handle, v->extents, v->n);
	call_hints(k);
	return call_post(k);
}

/* Of `packed` bytes read, got[i] belong to extent i: memory was filled without the gaps that short extents leave. */
static void spread(struct call *k, const uint64_t *got, uint64_t packed)
{
	const struct fathom_fwd_request *r = k->request;
	uint64_t place = extents_length(r->extents, r->n);

	for (uint32_t i = r->n; i-- > 0;) {
		place -= r->extents[i].length;
		packed -= got[i];
		memory_move_up(&r->memory, place, packed, got[i]);
	}
}

/* The data behind the reply's fields, all there is. */
static bool take_rest(struct call *k, uint64_t bytes)
{
	struct fathom_fwd_request *r = k->request;
	int64_t n = (int64_t)bytes;

	if (bytes && r->reply_head.flags & FWD_FLAG_COMPRESSED)
		n = k->client->server.compresses
			    ? expand_memory(&r->memory, 0, r->memory.bytes, k->r.at, bytes)
			    : -1;
	else if (bytes > r->memory.bytes)
		n = -1;
	else
		memory_put(&r->memory, 0, k->r.at, bytes);
	r->received += n < 0 ? 0 : (uint64_t)n;
	return n >= 0;
}

static uint64_t take_read(struct call *k)
{
	struct fathom_fwd_request *r = k->request;
	uint32_t n = get_count(&k->r, FWD_LIMIT_EXTENTS, 8);
	uint64_t few[4], *got = n > 4 ? calloc(n, sizeof(*got)) : few, sum = 0, present;

	if (!got || n != r->n) {
		k->r.bad = true;
		if (got != few)
			free(got);
		return 0;
	}
	for (uint32_t i = 0; i < n; i++) {
		got[i] = get_u64(&k->r);
		k->r.bad |= got[i] > r->extents[i].length;
		sum += got[i];
	}
	get_hint(&k->r, 0, 0);
	present = k->r.bad ? 0 : (uint64_t)(k->r.end - k->r.at);
	if (k->r.bad || (present && r->received) || !take_rest(k, present) || sum != r->received) {
		k->r.bad = true;
		sum = 0;
	} else {
		spread(k, got, sum);
	}
	if (got != few)
		free(got);
	k->r.at = k->r.bad ? k->r.at : NULL; /* all was read */
	return sum;
}

static void take_level(struct call *k, uint64_t offset, uint64_t length)
{
	const struct fathom_fwd_failed range = {.handle = k->request->handle,
						.seq = k->request->head.seq,
						.offset = offset,
						.length = length};

	k->hints->reached = get_u8(&k->r);
	if (!k->r.bad && k->hints->reached == FATHOM_FWD_ACCEPTED &&
	    ledger_accepted(&k->client->ledger, &range))
		call_fail(k, ENOMEM, "");
}

/* Waits for what post_vectors or post_append posted, and takes its answer. */
static uint64_t answer(struct call *k)
{
	const struct fathom_fwd_request *r = k->request;
	uint64_t number;

	if (call_wait(k))
		return 0;
	if (r->head.op == FWD_OP_READ)
		return take_read(k);
	number = get_u64(&k->r);
	if (r->head.op == FWD_OP_WRITE)
		take_level(k, r->offset, r->length);
	else
		take_level(k, number, r->length);
	return number;
}

/* ---- what is larger than a request ---- */

/* The extents from byte `at` of all on, up to `most` bytes and the limit of a request, in `part`; how many. */
static uint32_t next_extents(const struct vectors *all, uint64_t at, uint64_t most,
			     struct fathom_fwd_extent *part, uint64_t *bytes)
{
	uint32_t n = 0;

	*bytes = 0;
	for (uint32_t i = 0; i < all->n && n < FWD_LIMIT_EXTENTS && *bytes < most; i++) {
		struct fathom_fwd_extent e = all->extents[i];

		if (at >= e.length) {
			at -= e.length;
			continue;
		}
		e.offset += at;
		e.length -= at;
		at = 0;
		if (e.length > most - *bytes)
			e.length = most - *bytes;
		part[n++] = e;
		*bytes += e.length;
	}
	return n;
}

static int transfer_part(struct fathom_fwd *client, uint16_t op,
			 const struct fathom_fwd_handle *handle, const struct vectors *part,
			 uint64_t *done, struct fathom_fwd_hints *hints)
{
	struct call k;

	if (!post_vectors(&k, client, op, handle, part, hints))
		*done += answer(&k);
	return call_end(&k);
}

/* A caller's mistake: there is no request yet. */
static int mistake(struct fathom_fwd *client, struct fathom_fwd_hints *hints, int code,
		   const char *why)
{
	struct call k;

	call_resume(&k, client, hints, NULL);
	call_fail(&k, code, why);
	return call_end(&k);
}

static int transfer(struct fathom_fwd *client, uint16_t op, const struct fathom_fwd_handle *handle,
		    struct vectors *all, uint64_t *done, struct fathom_fwd_hints *hints)
{
	uint32_t room = all->n < FWD_LIMIT_EXTENTS ? all->n : FWD_LIMIT_EXTENTS;
	struct fathom_fwd_extent few[4];
	struct fathom_fwd_extent *extents = room > 4 ? malloc(room * sizeof(*extents)) : few;
	struct vectors part = *all;
	uint64_t ignored, at = 0, most = engine_server(client).data;
	int error = 0;

	done = done ? done : &ignored;
	*done = 0;
	if (!extents)
		return mistake(client, hints, ENOMEM, "");
	part.extents = extents;
	do {
		part.n = next_extents(all, at, most, extents, &part.bytes);
		part.from = at;
		error = transfer_part(client, op, handle, &part, done, hints);
		at += part.bytes;
	} while (!error && at < all->bytes);
	if (extents != few)
		free(extents);
	return error;
}

/* 0, or the caller's mistake: both vectors must cover the same number of bytes. */
static int measure(struct vectors *v, struct fathom_fwd *client, struct fathom_fwd_hints *hints)
{
	v->bytes = extents_length(v->extents, v->n);
	if (v->bytes != UINT64_MAX && v->bytes == memory_length(v->memory, v->memories))
		return 0;
	return mistake(client, hints, EINVAL,
		       "memory and extents do not cover the same number of bytes");
}

static int blocking(struct fathom_fwd *client, uint16_t op, const struct fathom_fwd_handle *handle,
		    struct vectors v, uint64_t *done, struct fathom_fwd_hints *hints)
{
	int error = measure(&v, client, hints);

	return error ? error : transfer(client, op, handle, &v, done, hints);
}

int fathom_fwd_read(struct fathom_fwd *client, const struct fathom_fwd_handle *handle,
		    const struct iovec *memory, uint32_t memories,
		    const struct fathom_fwd_extent *extents, uint32_t n, uint64_t *done,
		    struct fathom_fwd_hints *hints)
{
	struct vectors v = {memory, memories, extents, n, 0, 0};

	return blocking(client, FWD_OP_READ, handle, v, done, hints);
}

int fathom_fwd_write(struct fathom_fwd *client, const struct fathom_fwd_handle *handle,
		     const struct iovec *memory, uint32_t memories,
		     const struct fathom_fwd_extent *extents, uint32_t n, uint64_t *done,
		     struct fathom_fwd_hints *hints)
{
	struct vectors v = {memory, memories, extents, n, 0, 0};

	return blocking(client, FWD_OP_WRITE, handle, v, done, hints);
}

static int post_append(struct call *k, struct fathom_fwd *client,
		       const struct fathom_fwd_handle *handle, const struct iovec *memory,
		       uint32_t memories, struct fathom_fwd_hints *hints)
{
	uint64_t bytes = memory_length(memory, memories);

	if (call_begin(k, client, hints, FWD_OP_APPEND, handle, FIELDS, bytes))
		return k->code;
	k->request->length = bytes;
	if (bytes > client->server.data)
		return call_fail(k, EMSGSIZE, "a record is one request, and this is too long");
	if (memory_take(&k->request->memory, memory, memories, 0, bytes))
		return call_fail(k, ENOMEM, "");
	wish_level(k);
	put_file_number(&k->w, handle, bytes);
	call_hints(k);
	return call_post(k);
}

int fathom_fwd_append(struct fathom_fwd *client, const struct fathom_fwd_handle *handle,
		      const struct iovec *memory, uint32_t memories, uint64_t *offset,
		      struct fathom_fwd_hints *hints)
{
	uint64_t where = 0;
	struct call k;

	if (!post_append(&k, client, handle, memory, memories, hints))
		where = answer(&k);
	if (offset)
		*offset = where;
	return call_end(&k);
}

/* ---- non-blocking ---- */

/* The request goes to the caller; only if it could not be posted it ends here. */
static int hand_over(struct call *k, struct fathom_fwd_request **request)
{
	*request = k->code ? NULL : k->request;
	if (!k->code) {
		k->request->paths =
			0; /* the caller's memory, which may not be there when it is waited for */
		k->request = NULL;
	}
	return call_end(k);
}

static int post(struct fathom_fwd *client, uint16_t op, const struct fathom_fwd_handle *handle,
		struct vectors v, struct fathom_fwd_request **request,
		struct fathom_fwd_hints *hints)
{
	int error = measure(&v, client, hints);
	struct call k;

	*request = NULL;
	if (error)
		return error;
	post_vectors(&k, client, op, handle, &v, hints);
	return hand_over(&k, request);
}

int fathom_fwd_post_read(struct fathom_fwd *client, const struct fathom_fwd_handle *handle,
			 const struct iovec *memory, uint32_t memories,
			 const struct fathom_fwd_extent *extents, uint32_t n,
			 struct fathom_fwd_request **request, struct fathom_fwd_hints *hints)
{
	struct vectors v = {memory, memories, extents, n, 0, 0};

	return post(client, FWD_OP_READ, handle, v, request, hints);
}

int fathom_fwd_post_write(struct fathom_fwd *client, const struct fathom_fwd_handle *handle,
			  const struct iovec *memory, uint32_t memories,
			  const struct fathom_fwd_extent *extents, uint32_t n,
			  struct fathom_fwd_request **request, struct fathom_fwd_hints *hints)
{
	struct vectors v = {memory, memories, extents, n, 0, 0};

	return post(client, FWD_OP_WRITE, handle, v, request, hints);
}

int fathom_fwd_post_append(struct fathom_fwd *client, const struct fathom_fwd_handle *handle,
			   const struct iovec *memory, uint32_t memories,
			   struct fathom_fwd_request **request, struct fathom_fwd_hints *hints)
{
	struct call k;

	post_append(&k, client, handle, memory, memories, hints);
	return hand_over(&k, request);
}

static int finish(struct call *k, struct fathom_fwd_result *result)
{
	uint64_t number = answer(k);

	if (result)
		*result = (struct fathom_fwd_result){number, k->hints->reached};
	return call_end(k);
}

int fathom_fwd_wait(struct fathom_fwd *client, struct fathom_fwd_request *request,
		    struct fathom_fwd_result *result, struct fathom_fwd_hints *hints)
{
	struct call k;

	call_resume(&k, client, hints, request);
	return finish(&k, result);
}

int fathom_fwd_test(struct fathom_fwd *client, struct fathom_fwd_request *request, int *done,
		    struct fathom_fwd_result *result, struct fathom_fwd_hints *hints)
{
	struct call k;

	call_resume(&k, client, hints, request);
	engine_progress(client);
	*done = request->answered || request->lost || now_ms() >= request->due;
	if (*done)
		return finish(&k, result);
	k.request = NULL;
	return call_end(&k);
}

/* ---- commit ---- */

static void note_failed(struct call *k, struct fathom_fwd_commit *result,
			const struct fathom_fwd_failed *failed, const char *why)
{
	if (result->n < result->room)
		result->failed[result->n] = *failed;
	ledger_failed(&k->client->ledger, &failed->handle, failed->code);
	if (result->n++ == 0) {
		k->request->offset = failed->offset;
		k->request->length = failed->length;
		call_fail(k, failed->code, why);
	}
}

/* One request; true if the server has more to tell. What failed is this call's error. */
static bool commit_once(struct call *k, struct fathom_fwd *client,
			const struct fathom_fwd_handle *handle, enum fathom_fwd_level level,
			struct fathom_fwd_commit *result, struct fathom_fwd_hints *hints)
{
	struct fathom_fwd_failed failed;

	if (call_begin(k, client, hints, FWD_OP_COMMIT, handle, FIELDS, 0))
		return false;
	put_commit(&k->w, or_root(handle), (uint8_t)level);
	if (call_ask(k))
		return false;
	for (uint32_t n = get_count(&k->r, FWD_LIMIT_FAILED, FAILED_BYTES); n > 0; n--) {
		failed = get_failed(&k->r);
		note_failed(k, result, &failed, "a write that was accepted failed");
	}
	while (ledger_take_lost(&client->ledger, handle, &failed))
		note_failed(k, result, &failed,
			    "the server was started again, writes that it had accepted are lost");
	ledger_committed(&client->ledger, handle);
	return k->request->reply_head.flags & FWD_FLAG_MORE;
}

int fathom_fwd_commit(struct fathom_fwd *client, const struct fathom_fwd_handle *handle,
		      enum fathom_fwd_level level, struct fathom_fwd_commit *result,
		      struct fathom_fwd_hints *hints)
{
	struct fathom_fwd_commit counted = {.failed = NULL};
	struct fathom_fwd_error first = {.code = 0};
	struct call k;
	bool more;

	result = result ? result : &counted;
	result->n = 0;
	do {
		more = commit_once(&k, client, handle, level, result, hints);
		call_end(&k);
		first = first.code ? first : k.hints->error;
	} while (more);
	if (hints)
		hints->error = first;
	return first.code;
}

uint64_t fathom_fwd_errors(struct fathom_fwd *client)
{
	uint64_t mark;

	engine_lock(client);
	mark = client->ledger.errors;
	engine_unlock(client);
	return mark;
}

int fathom_fwd_error_since(struct fathom_fwd *client, const struct fathom_fwd_handle *handle,
			   uint64_t *mark)
{
	int code;

	engine_lock(client);
	code = ledger_error_since(&client->ledger, handle, mark);
	engine_unlock(client);
	return code;
}

uint64_t fathom_fwd_epoch(struct fathom_fwd *client)
{
	return __atomic_load_n(&client->server.epoch, __ATOMIC_RELAXED);
}

int fathom_fwd_gaps(struct fathom_fwd *client, const struct fathom_fwd_handle *handle,
		    uint64_t from, struct fathom_fwd_gap *gaps, uint32_t room, uint32_t *n,
		    struct fathom_fwd_hints *hints)
{
	struct call k;
	uint32_t count;

	*n = 0;
	if (call_begin(&k, client, hints, FWD_OP_GAPS, handle, FIELDS, 0))
		return call_end(&k);
	put_file_number(&k.w, handle, from);
	if (call_ask(&k))
		return call_end(&k);
	count = get_count(&k.r, FWD_LIMIT_FAILED, GAP_BYTES);
	for (uint32_t i = 0; i < count; i++) {
		struct fathom_fwd_gap gap = get_gap(&k.r);

		if (*n < room)
			gaps[(*n)++] = gap;
	}
	return call_end(&k);
}
