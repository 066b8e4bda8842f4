/* The transport that damages; it knows frames, so that each damage is of one. */
#include "fault.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "../core/check.h"
#include "bytes.h"
#include "frame.h"
#include "transport.h"

enum { DROP, TRUNCATE, DUPLICATE, REORDER, DELAY, DEAF, GARBLE, KINDS };

static const char *const kinds[KINDS] = {"drop",  "truncate", "duplicate", "reorder",
					 "delay", "deaf",     "garble"};

struct bytes {
	uint8_t *at;
	size_t length, room;
};

struct fault {
	struct link inner;
	uint64_t seed;
	uint64_t permille[KINDS];
	struct bytes taken;   /* of the client, no whole frame yet */
	struct bytes ready;   /* damaged, on its way */
	struct bytes delayed; /* a frame that lets the next one pass */
	bool dead;
};

static uint64_t connections; /* each has other luck */

static void add(struct bytes *b, const void *from, size_t length)
{
	if (b->length + length > b->room) {
		b->room = 2 * (b->length + length);
		b->at = realloc(b->at, b->room);
	}
	if (length)
		memcpy(b->at + b->length, from, length);
	b->length += length;
}

static void take(struct bytes *b, size_t length)
{
	b->length -= length;
	memmove(b->at, b->at + length, b->length);
}

static bool happens(struct fault *f, int kind)
{
	return random_below(&f->seed, 1000) < f->permille[kind];
}

static void damage(struct fault *f, const uint8_t *frame, size_t length)
{
	if (happens(f, DROP) || f->dead) {
		f->dead = true;
		return;
	}
	if (happens(f, TRUNCATE)) {
		add(&f->ready, frame, random_below(&f->seed, length));
		f->dead = true;
		return;
	}
	if (happens(f, DELAY))
		nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
	if (happens(f, REORDER) && !f->delayed.length) {
		add(&f->delayed, frame, length);
		return;
	}
	add(&f->ready, frame, length);
	if (frame[5] == FWD_KIND_REQUEST && happens(f, DUPLICATE))
		add(&f->ready, frame, length);
	add(&f->ready, f->delayed.at, f->delayed.length);
	f->delayed.length = 0;
}

static void damage_whole_frames(struct fault *f)
{
	while (f->taken.length >= FWD_FRAME_HEADER) {
		struct reader r = {.at = f->taken.at + 12, .end = f->taken.at + 16};
		size_t length = FWD_FRAME_HEADER + get_u32(&r);

		if (f->taken.length < length)
			return;
		damage(f, f->taken.at, length);
		take(&f->taken, length);
	}
}

static int fault_open(struct link *link, const char *address, int64_t due)
{
	struct fault *f = calloc(1, sizeof(*f));
	char *next;
	int error;

	f->seed = strtoull(address, &next, 10) + 1000 * connections++;
	while (*next == ',')
		for (int kind = 0; kind < KINDS; kind++)
			if (!strncmp(next + 1, kinds[kind], strlen(kinds[kind]))) {
				next += 1 + strlen(kinds[kind]);
				f->permille[kind] = strtoull(next + 1, &next, 10);
				break;
			}
	error = link_open(&f->inner, next + 1, due);
	link->fd = f->inner.fd;
	link->state = f;
	if (error)
		free(f);
	return error;
}

static ssize_t fault_send(struct link *link, const struct iovec *part, int parts)
{
	struct fault *f = link->state;
	size_t taken = 0;

	if (f->dead && !f->ready.length)
		return -EPIPE;
	for (int i = 0; i < parts; i++) {
		add(&f->taken, part[i].iov_base, part[i].iov_len);
		taken += part[i].iov_len;
	}
	damage_whole_frames(f);
	while (f->ready.length) {
		struct iovec one = {f->ready.at, f->ready.length};
		ssize_t n = f->inner.transport->send(&f->inner, &one, 1);

		if (n == -EAGAIN) {
			wait_fd(f->inner.fd, POLLOUT, now_ms() + 1000);
			continue;
		}
		if (n < 0)
			return n;
		take(&f->ready, (size_t)n);
	}
	if (f->dead)
		shutdown(f->inner.fd,
			 SHUT_RDWR); /* both sides see the end, after what was sent before */
	return (ssize_t)taken;
}

static ssize_t fault_receive(struct link *link, void *to, size_t room)
{
	struct fault *f = link->state;
	ssize_t n;

	if (f->dead || happens(f, DEAF))
		return 0;
	n = f->inner.transport->receive(&f->inner, to, room);
	for (int flips = 3; n > 0 && flips && happens(f, GARBLE); flips--)
		((uint8_t *)to)[random_below(&f->seed, (uint64_t)n)] ^=
			1 << random_below(&f->seed, 8);
	return n;
}

static void fault_close(struct link *link)
{
	struct fault *f = link->state;

	f->inner.transport->close(&f->inner);
	free(f->taken.at);
	free(f->ready.at);
	free(f->delayed.at);
	free(f);
}

static const struct transport fault = {"fault:",      fault_open, fault_send,
				       fault_receive, NULL,       fault_close};

void fault_add(void)
{
	fwd_transports[TRANSPORTS - 1] = &fault;
}
