/* Requests in flight. No thread of its own: of the threads that wait, one at a time pumps for all. */
#include "engine.h"
#include "compress.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { NOBODY, OURS, MADE_ANEW }; /* whose a connection is */

enum {
	IN_ROOM = 65536,
	FEW = 1024, /* bytes that are received where more may be data for the user's memory */
	SEND_PARTS = 64,
	MOST_OUTS = 4096, /* pulls that wait for their data: more is no server of ours */
	FIRST_PAUSE = 10, /* ms between attempts to connect; doubles */
	LONGEST_PAUSE = 1000,
	HANDSHAKE = 5000, /* ms */
};

/* ---- the list of requests ---- */

static void free_request(struct fathom_fwd_request *r)
{
	memory_free(&r->memory);
	free(r->extents);
	free(r->body);
	free(r->reply);
	free(r);
}

static void unlink_request(struct fathom_fwd *c, struct fathom_fwd_request *r)
{
	struct fathom_fwd_request *before = NULL;

	for (struct fathom_fwd_request *q = c->first; q != r; q = q->next)
		before = q;
	if (before)
		before->next = r->next;
	else
		c->first = r->next;
	if (c->last == r)
		c->last = before;
}

static bool is_open(const struct fathom_fwd_request *r)
{
	return !r->answered && !r->lost;
}

static struct fathom_fwd_request *find_request(struct fathom_fwd *c, uint64_t seq)
{
	struct fathom_fwd_request *r = c->first;

	while (r && (r->head.seq != seq || !is_open(r)))
		r = r->next;
	return r;
}

static bool window_is_open(const struct fathom_fwd *c)
{
	const struct fathom_fwd_request *r = c->first;

	while (r && !is_open(r))
		r = r->next;
	return !r || c->next_seq - r->head.seq < c->server.window;
}

/* ---- sending ---- */

static void free_out(struct out *o)
{
	free(o->packed);
	if (o->data)
		free(o); /* else it is a part of its request */
}

static void free_outs(struct fathom_fwd *c)
{
	while (c->out_first) {
		struct out *o = c->out_first;

		c->out_first = o->next;
		free_out(o);
	}
	c->out_last = NULL;
	c->outs = 0;
}

static void add_out(struct fathom_fwd *c, struct out *o)
{
	if (c->out_last)
		c->out_last->next = o;
	else
		c->out_first = o;
	c->out_last = o;
	c->outs++;
}

static void queue_request(struct fathom_fwd *c, struct fathom_fwd_request *r)
{
	r->out = (struct out){.request = r};
	if (r->begun)
		r->head.flags |= FWD_FLAG_RETRY;
	frame_encode(r->out.head, &r->head);
	add_out(c, &r->out);
}

static int queue_data(struct fathom_fwd *c, struct fathom_fwd_request *r, uint64_t at,
		      uint32_t length)
{
	struct out *o = malloc(sizeof(*o));
	struct frame head = {
		.kind = FWD_KIND_DATA, .op = r->head.op, .client = c->id, .seq = r->head.seq};
	struct writer w;

	if (!o)
		return ENOMEM;
	*o = (struct out){.request = r, .data = true, .at = at, .length = length};
	add_out(c, o);
	o->packed =
		c->server.compresses ? compress_memory(&r->memory, at, length, &o->length) : NULL;
	head.flags = o->packed ? FWD_FLAG_COMPRESSED : 0;
	head.body = o->length + 8;
	w = (struct writer){.at = o->head + FWD_FRAME_HEADER, .end = o->head + sizeof(o->head)};
	put_u64(&w, at);
	if (c->checksum) {
		head.flags |= FWD_FLAG_BODY_CRC;
		head.body_crc = frame_crc(0, o->head + FWD_FRAME_HEADER, 8);
		head.body_crc = o->packed ? frame_crc(head.body_crc, o->packed, o->length)
					  : memory_crc(&r->memory, at, length, head.body_crc);
	}
	frame_encode(o->head, &head);
	return 0;
}

/* What of the frame was not sent yet. */
static int rest_of(const struct out *o, struct iovec *part)
{
	uint32_t head = o->data ? sizeof(o->head) : FWD_FRAME_HEADER, sent = o->sent;
	int n = 0;

	if (sent < head) {
		part[n++] = (struct iovec){(void *)(uintptr_t)(o->head + sent), head - sent};
		sent = head;
	}
	sent -= head;
	if (o->packed && sent < o->length)
		part[n++] = (struct iovec){o->packed + sent, o->length - sent};
	if (o->packed)
		return n;
	if (o->data)
		return n + memory_pieces(&o->request->memory, o->at + sent, o->length - sent,
					 part + n, SEND_PARTS - n);
	if (sent < o->request->head.body)
		part[n++] = (struct iovec){o->request->body + sent, o->request->head.body - sent};
	return n;
}

static uint32_t frame_bytes(const struct out *o)
{
	return o->data ? (uint32_t)sizeof(o->head) + o->length
		       : FWD_FRAME_HEADER + o->request->head.body;
}

static void flush(struct fathom_fwd *c)
{
	struct iovec part[SEND_PARTS];

	while (c->up && !c->broken && c->out_first) {
		struct out *o = c->out_first;
		ssize_t n = c->link.transport->send(&c->link, part, rest_of(o, part));

		if (n == -EAGAIN)
			return;
		if (n < 0) {
			c->broken = true;
			return;
		}
		o->request->begun = true;
		o->sent += (uint32_t)n;
		if (o->sent < frame_bytes(o))
			continue;
		c->out_first = o->next;
		if (!o->next)
			c->out_last = NULL;
		c->outs--;
		free_out(o);
	}
}

/* ---- receiving ---- */

static bool is_being_sent(const struct fathom_fwd *c, const struct fathom_fwd_request *r)
{
	const struct out *o = c->out_first;

	while (o && o->request != r)
		o = o->next;
	return o;
}

static const char *take_reply(struct fathom_fwd *c, struct fathom_fwd_request *r,
			      const struct frame *head, const uint8_t *body)
{
	if (is_being_sent(
		    c,
		    r)) /* and its memory is about to be the user's again: only a new connection ends this */
		return "an answer to a request that is still being sent";
	if (r->abandoned) {
		unlink_request(c, r);
		free_request(r);
		return NULL;
	}
	r->reply = malloc(head->body ? head->body : 1);
	if (!r->reply)
		r->lost = ENOMEM;
	else
		memcpy(r->reply, body, head->body);
	r->reply_head = *head;
	r->answered = true;
	return NULL;
}

static const char *take_pull(struct fathom_fwd *c, struct fathom_fwd_request *r,
			     const struct frame *head, const uint8_t *body)
{
	struct reader in = {.at = body, .end = body + head->body};
	uint64_t at = get_u64(&in);
	uint32_t length = get_u32(&in);

	if (in.bad || in.at != in.end || !(r->head.flags & FWD_FLAG_PULL))
		return "a pull that is none";
	if (r->abandoned) /* its memory is the user's again: only a new connection ends this */
		return "a pull of a request whose deadline has passed";
	if (!length || length > FWD_LIMIT_PIECE || at > r->memory.bytes ||
	    length > r->memory.bytes - at || c->outs >= MOST_OUTS)
		return "a pull of data that was not announced";
	if (queue_data(c, r, at, length))
		c->broken = true;
	return NULL;
}

static const char *take_compressed(struct fathom_fwd *c, struct fathom_fwd_request *r,
				   struct reader in, uint64_t at)
{
	int64_t n;

	if (!c->server.compresses)
		return "compressed data that was not agreed on";
	if (r->abandoned)
		return NULL;
	if (at != r->received)
		return "data of a read at another place than where it goes on";
	n = expand_memory(&r->memory, at, r->memory.bytes - at, in.at, (size_t)(in.end - in.at));
	if (n < 0)
		return "compressed data that is not what it says";
	r->received += (uint64_t)n;
	return NULL;
}

/* The frame's data as far as it has come; the rest is received where it belongs. */
static const char *take_data(struct fathom_fwd *c, struct fathom_fwd_request *r,
			     const struct frame *head, const uint8_t *body, size_t have)
{
	struct reader in = {.at = body, .end = body + have};
	uint64_t at = get_u64(&in), here = (uint64_t)(in.end - in.at), length = head->body - 8;

	if (in.bad || r->head.op != FWD_OP_READ)
		return "data that nobody asked for";
	if (head->flags & FWD_FLAG_COMPRESSED)
		return take_compressed(c, r, in, at);
	if (!r->abandoned) {
		if (at != r->received || length > r->memory.bytes - at)
			return "data of a read at another place than where it goes on";
		memory_put(&r->memory, at, in.at, here);
		r->received += here;
	}
	c->landing = (struct landing){length > here ? r : NULL, length - here};
	return NULL;
}

static const char *take_frame(struct fathom_fwd *c, const struct frame *head, const uint8_t *body)
{
	const char *rule = frame_check_body(head, body);
	struct fathom_fwd_request *r = find_request(c, head->seq);

	if (rule)
		return rule;
	if (head->client != c->id)
		return "a frame of another client";
	if (!r)
		return NULL; /* the answer to one that was sent twice */
	if (r->head.op != head->op)
		return "an answer of another operation";
	switch (head->kind) {
	case FWD_KIND_REPLY:
		return take_reply(c, r, head, body);
	case FWD_KIND_PULL:
		return take_pull(c, r, head, body);
	case FWD_KIND_DATA:
		return take_data(c, r, head, body, head->body);
	default:
		return "a request from the server";
	}
}

/* Data without a checksum, as it is, need not be there as a whole: the request whose memory it goes into at once; or NULL. */
static struct fathom_fwd_request *can_land(struct fathom_fwd *c, const struct frame *head,
					   size_t have)
{
	struct fathom_fwd_request *r = NULL;

	if (head->kind == FWD_KIND_DATA &&
	    !(head->flags & (FWD_FLAG_BODY_CRC | FWD_FLAG_COMPRESSED)) && have >= 8 &&
	    head->client == c->id)
		r = find_request(c, head->seq);
	return r && r->head.op == head->op ? r : NULL;
}

/* Takes the whole frames that are there; how many bytes the next one needs. */
static size_t take_frames(struct fathom_fwd *c)
{
	size_t at = 0, need = FWD_FRAME_HEADER;

	while (c->in_have - at >= FWD_FRAME_HEADER) {
		struct frame head;

		c->broken_rule = frame_decode(&head, c->in + at);
		if (c->broken_rule)
			break;
		need = FWD_FRAME_HEADER + head.body;
		if (c->in_have - at < need) {
			size_t have = c->in_have - at - FWD_FRAME_HEADER;

			struct fathom_fwd_request *r = can_land(c, &head, have);

			if (!r)
				break;
			c->broken_rule =
				take_data(c, r, &head, c->in + at + FWD_FRAME_HEADER, have);
			at = c->in_have;
			need = FWD_FRAME_HEADER;
			break;
		}
		c->broken_rule = take_frame(c, &head, c->in + at + FWD_FRAME_HEADER);
		if (c->broken_rule)
			break;
		at += need;
		need = FWD_FRAME_HEADER;
	}
	c->broken |= c->broken_rule != NULL;
	c->in_have -= at;
	if (at)
		memmove(c->in, c->in + at, c->in_have);
	return need;
}

/* Whether n bytes came; no answer of the transport but -EAGAIN leaves the connection as it is. */
static bool came(struct fathom_fwd *c, ssize_t n)
{
	c->broken |= n <= 0 && n != -EAGAIN;
	return n > 0;
}

/* Bytes that were received behind those in `in`. */
static void take_bytes(struct fathom_fwd *c, size_t n)
{
	size_t need;

	c->in_have += n;
	c->in_need = need = take_frames(c);
	if (need > c->in_room) {
		uint8_t *larger = realloc(c->in, FWD_FRAME_HEADER + FWD_LIMIT_BODY);

		if (!larger) {
			c->broken = true;
			return;
		}
		c->in = larger;
		c->in_room = FWD_FRAME_HEADER + FWD_LIMIT_BODY;
	}
}

/* A part of the data under way, into the user's memory; what nobody waits for any more goes nowhere. */
static bool land(struct fathom_fwd *c)
{
	struct fathom_fwd_request *r = c->landing.request;
	struct iovec place = {c->in, c->in_room};
	ssize_t n;

	if (!r->abandoned)
		memory_pieces(&r->memory, r->received, c->landing.left, &place, 1);
	if (place.iov_len > c->landing.left)
		place.iov_len = c->landing.left;
	n = c->link.transport->receive(&c->link, place.iov_base, place.iov_len);
	if (!came(c, n))
		return false;
	r->received += r->abandoned ? 0 : (uint64_t)n;
	c->landing.left -= (uint64_t)n;
	if (!c->landing.left)
		c->landing.request = NULL;
	return true;
}

/* How much is received at once. */
static size_t in_room(const struct fathom_fwd *c)
{
	size_t room = c->in_room - c->in_have;

	if (c->in_need > c->in_have + FEW)
		return c->in_need - c->in_have;
	for (const struct fathom_fwd_request *r = c->first; r && room > FEW; r = r->next)
		if (is_open(r) && r->head.op == FWD_OP_READ && r->memory.bytes > c->server.piece)
			return FEW;
	return room;
}

static void receive(struct fathom_fwd *c)
{
	while (!c->broken) {
		size_t room = in_room(c);
		ssize_t n;

		if (c->landing.request) {
			if (!land(c))
				return;
			continue;
		}
		n = c->link.transport->receive(&c->link, c->in + c->in_have, room);
		if (!came(c, n))
			return;
		take_bytes(c, (size_t)n);
		if ((size_t)n < room)
			return; /* that was all */
	}
}

/* ---- connections ---- */

/* Those that nobody waits for go with their connection: they cannot be sent again without their data. */
static void forget_abandoned(struct fathom_fwd *c)
{
	struct fathom_fwd_request *next;

	for (struct fathom_fwd_request *r = c->first; r; r = next) {
		next = r->next;
		if (!r->abandoned)
			continue;
		unlink_request(c, r);
		free_request(r);
	}
}

static void close_link(struct fathom_fwd *c)
{
	if (c->up)
		c->link.transport->close(&c->link);
	c->up = c->broken = false;
	c->in_have = c->in_need = 0;
	c->landing.request = NULL;
	free_outs(c);
	forget_abandoned(c);
	c->trouble = ECONNRESET;
	*c->why = 0;
	for (struct fathom_fwd_request *r = c->first; r; r = r->next)
		r->received = 0;
}

static void welcome(struct fathom_fwd *c, const struct link *link, const struct server *server)
{
	if (c->server.epoch && c->server.epoch != server->epoch)
		ledger_server_restarted(&c->ledger);
	if (server->unlocked)
		locks_lost(&c->locks);
	c->server = *server;
	c->link = *link;
	c->up = true;
	c->pause = 0;
	c->trouble = 0;
	*c->why = 0;
	for (struct fathom_fwd_request *r = c->first; r && !c->broken; r = r->next)
		if (is_open(r))
			queue_request(c, r);
}

/* Polls without the lock; true if the descriptor has one of the events. A receive that waits would be a call less, and more
 * work: on a Unix socket it is woken once more by each message of ours that the server takes. */
static bool poll_unlocked(struct fathom_fwd *c, int fd, short events, int64_t until)
{
	struct pollfd p[2] = {{.fd = c->wake, .events = POLLIN}, {.fd = fd, .events = events}};
	int64_t left = until - now_ms();
	uint64_t count;
	int n;

	pthread_mutex_unlock(&c->lock);
	n = poll(p, fd < 0 ? 1 : 2, left > 0 ? (int)(left < INT32_MAX ? left : INT32_MAX) : 0);
	pthread_mutex_lock(&c->lock);
	if (n > 0 && p[0].revents)
		while (read(c->wake, &count, sizeof(count)) < 0 && errno == EINTR)
			;
	return n > 0 && fd >= 0 && p[1].revents;
}

static void connect_again(struct fathom_fwd *c, int64_t due)
{
	int64_t now = now_ms(), limit = due < now + HANDSHAKE ? due : now + HANDSHAKE;
	struct server server;
	struct link link;
	struct verdict verdict;
	int error;

	if (now < c->next_attempt) {
		poll_unlocked(c, -1, 0, due < c->next_attempt ? due : c->next_attempt);
		return;
	}
	pthread_mutex_unlock(&c->lock);
	error = session_begin(c, &link, &server, limit, &verdict);
	pthread_mutex_lock(&c->lock);
	if (!error) {
		welcome(c, &link, &server);
		return;
	}
	c->trouble = error;
	c->refused = verdict.final ? error : 0;
	memcpy(c->why, verdict.why, sizeof(c->why));
	c->pause = c->pause ? 2 * c->pause : FIRST_PAUSE;
	if (c->pause > LONGEST_PAUSE)
		c->pause = LONGEST_PAUSE;
	c->next_attempt = now_ms() + c->pause;
}

static void pump_once(struct fathom_fwd *c, int64_t due)
{
	if (c->broken)
		close_link(c);
	if (!c->up) {
		connect_again(c, due);
		return;
	}
	flush(c);
	if (c->broken)
		return;
	if (poll_unlocked(c, c->link.fd,
			  link_events(&c->link, POLLIN | (c->out_first ? POLLOUT : 0)), due)) {
		receive(c);
		flush(c);
	}
}

static void wait_moved(struct fathom_fwd *c, int64_t due)
{
	struct timespec until = {.tv_sec = due / 1000, .tv_nsec = due % 1000 * 1000000};

	pthread_cond_timedwait(&c->moved, &c->lock, &until);
}

/* Waits, pumping or while another thread does, until r is answered, or (NULL) the window is open. */
static int wait_until(struct fathom_fwd *c, const struct fathom_fwd_request *r, int64_t due)
{
	while (r ? is_open(r) : !window_is_open(c)) {
		if (c->refused)
			return c->refused;
		if (now_ms() >= due)
			return ETIMEDOUT;
		if (c->pumping) {
			wait_moved(c, due);
			continue;
		}
		c->pumping = true;
		pump_once(c, due);
		c->pumping = false;
		pthread_cond_broadcast(&c->moved);
	}
	return r ? r->lost : 0;
}

/* ---- what the calls use ---- */

int engine_post(struct fathom_fwd *c, struct fathom_fwd_request *r)
{
	uint64_t one = 1;
	int error;

	c->refused = 0; /* it may be another server now, or another token */
	error = wait_until(c, NULL, r->due);
	if (error)
		return error;
	r->head.client = c->id;
	r->head.seq = c->next_seq;
	if (c->up)
		queue_request(c, r);
	c->next_seq++;
	if (c->last)
		c->last->next = r;
	else
		c->first = r;
	c->last = r;
	flush(c);
	if (c->pumping && (c->out_first || c->broken))
		while (write(c->wake, &one, sizeof(one)) < 0 && errno == EINTR)
			;
	return 0;
}

int engine_wait(struct fathom_fwd *c, struct fathom_fwd_request *r)
{
	return wait_until(c, r, r->due);
}

void engine_progress(struct fathom_fwd *c)
{
	if (c->pumping)
		return;
	c->pumping = true;
	pump_once(c, now_ms());
	c->pumping = false;
	pthread_cond_broadcast(&c->moved);
}

/* Of frames that carry the request's data none may be sent any more. */
static void take_back(struct fathom_fwd *c, struct fathom_fwd_request *r)
{
	for (struct out *o = c->out_first; o; o = o->next)
		if (o->request == r && o->data)
			c->broken = true;
	memory_free(&r->memory);
	r->abandoned = true;
}

void engine_drop(struct fathom_fwd *c, struct fathom_fwd_request *r)
{
	if (r->head.seq && is_open(r) && c->up) {
		take_back(c, r);
		if (c->broken && !c->pumping)
			close_link(c);
		return;
	}
	if (r->head.seq)
		unlink_request(c, r);
	free_request(r);
}

static int new_places(struct fathom_fwd *c)
{
	pthread_condattr_t monotonic;

	c->wake = raise_fd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), c->lowest);
	if (c->wake < 0)
		return errno;
	pthread_mutex_init(&c->lock, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&c->moved, &monotonic);
	pthread_condattr_destroy(&monotonic);
	c->next_seq = 1;
	return session_identity(c);
}

/* A word that a child of fork finds to be NOBODY, without a system call in each call of the client. */
static int own_memory(struct fathom_fwd *c)
{
	void *page = mmap(NULL, sizeof(*c->whose), PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (page == MAP_FAILED)
		return errno;
	c->whose = page;
	return madvise(page, sizeof(*c->whose), MADV_WIPEONFORK) ? errno : 0;
}

int engine_begin(struct fathom_fwd *c)
{
	int error;

	c->link.fd = c->wake = -1;
	c->in = malloc(IN_ROOM);
	c->in_room = IN_ROOM;
	error = c->in ? own_memory(c) : ENOMEM;
	if (error)
		return error;
	error = new_places(c);
	atomic_store(c->whose, OURS);
	return error;
}

void engine_end(struct fathom_fwd *c)
{
	close_link(c);
	while (c->first) {
		struct fathom_fwd_request *r = c->first;

		unlink_request(c, r);
		free_request(r);
	}
	ledger_free(&c->ledger);
	locks_free(&c->locks);
	free(c->in);
	if (c->whose)
		munmap(c->whose, sizeof(*c->whose));
	if (c->wake >= 0)
		close(c->wake);
}

/* In a child: the parent goes on with the connection, its requests are not ours, nor are its locks. */
static void begin_anew(struct fathom_fwd *c)
{
	if (pthread_mutex_trylock(&c->lock)) { /* a thread of the parent was changing the lists */
		c->first = c->last = NULL;
		c->out_first = NULL;
		c->ledger = (struct ledger){.line = NULL};
		c->locks = (struct locks){.line = NULL};
	}
	close_link(c);
	close(c->wake);
	for (struct fathom_fwd_request *r = c->first; r; r = r->next) {
		memory_free(&r->memory);
		r->lost = ECHILD;
	}
	c->pumping = false;
	c->server.epoch = 0;
	ledger_free(&c->ledger);
	locks_free(&c->locks);
	c->refused = new_places(c);
	c->next_attempt = 0;
}

void engine_lock(struct fathom_fwd *c)
{
	while (atomic_load(c->whose) != OURS) {
		int nobody = NOBODY;

		if (atomic_compare_exchange_strong(c->whose, &nobody, MADE_ANEW)) {
			begin_anew(c);
			atomic_store(c->whose, OURS);
		}
		sched_yield();
	}
	pthread_mutex_lock(&c->lock);
}

void engine_unlock(struct fathom_fwd *c)
{
	pthread_mutex_unlock(&c->lock);
}

struct server engine_server(struct fathom_fwd *c)
{
	struct server server;

	engine_lock(c);
	server = c->server;
	engine_unlock(c);
	return server;
}
