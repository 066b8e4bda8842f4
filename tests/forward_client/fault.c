/* The transport that damages; it knows frames, so that each damage is of one. */
#include "fault.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "../core/check.h"
#include "frame.h"
#include "reorder.h"
#include "transport.h"

enum { DROP, TRUNCATE, DUPLICATE, REORDER, DELAY, DEAF, GARBLE, KINDS };

static const char *const kinds[KINDS] = {"drop",  "truncate", "duplicate", "reorder",
					 "delay", "deaf",     "garble"};

struct fault {
	struct link inner;
	uint64_t seed;
	uint64_t permille[KINDS];
	struct bytes taken;     /* of the client, no whole frame yet */
	struct bytes ready;     /* damaged, on its way */
	struct bytes came;      /* of the server, no whole frame yet */
	struct bytes ours;      /* for the client */
	struct reorder out, in; /* both ways */
	int clock;              /* readable when frames were held long enough */
	bool dead;
};

static uint64_t connections; /* each has other luck */
uint64_t fault_reordered;

static bool happens(struct fault *f, int kind)
{
	return random_below(&f->seed, 1000) < f->permille[kind];
}

/* The client is to look again, soon. */
static void ring(struct fault *f)
{
	static const struct itimerspec soon = {.it_value.tv_nsec = 1000000};

	timerfd_settime(f->clock, 0, &soon, NULL);
}

/* Held frames are let go by those that follow, or, where none does, by the clock. */
static bool hold(struct fault *f, struct reorder *r, const uint8_t *frame, size_t length)
{
	if (!happens(f, REORDER) || !reorder_hold(r, frame, length, 1 + random_below(&f->seed, 6)))
		return false;
	ring(f);
	return true;
}

static void damage(struct fault *f, const uint8_t *frame, size_t length)
{
	if (happens(f, DROP) || f->dead) {
		f->dead = true;
		return;
	}
	if (happens(f, TRUNCATE)) {
		bytes_add(&f->ready, frame, random_below(&f->seed, length));
		f->dead = true;
		return;
	}
	if (happens(f, DELAY))
		nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
	if (hold(f, &f->out, frame, length))
		return;
	reorder_pass(&f->out, frame, length, &f->ready);
	if (frame[5] == FWD_KIND_REQUEST && happens(f, DUPLICATE))
		bytes_add(&f->ready, frame, length);
}

static void damage_whole_frames(struct fault *f)
{
	size_t length;

	while ((length = bytes_frame(&f->taken))) {
		damage(f, f->taken.at, length);
		bytes_take(&f->taken, length);
	}
}

/* What the client waits on: the connection, or that frames were held long enough. */
static int watch(struct fault *f)
{
	struct epoll_event readable = {.events = EPOLLIN};
	int fd = epoll_create1(EPOLL_CLOEXEC);

	f->clock = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	CHECK(fd >= 0 && f->clock >= 0);
	CHECK(!epoll_ctl(fd, EPOLL_CTL_ADD, f->inner.fd, &readable));
	CHECK(!epoll_ctl(fd, EPOLL_CTL_ADD, f->clock, &readable));
	return fd;
}

static int fault_open(struct link *link, const char *address, int64_t due, char *why)
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
	error = link_open(&f->inner, next + 1, due, why);
	if (error) {
		free(f);
		return error;
	}
	link->fd = watch(f);
	link->state = f;
	return 0;
}

static int send_ready(struct fault *f)
{
	while (f->ready.length) {
		struct iovec one = {f->ready.at, f->ready.length};
		ssize_t n = f->inner.transport->send(&f->inner, &one, 1);

		if (n == -EAGAIN) {
			wait_fd(f->inner.fd, link_events(&f->inner, POLLOUT), now_ms() + 1000);
			link_events(&f->inner, POLLIN);
			continue;
		}
		if (n < 0)
			return (int)-n;
		bytes_take(&f->ready, (size_t)n);
	}
	if (f->dead)
		ring(f); /* the client sees the end, and then the server, after what was sent before */
	return 0;
}

static ssize_t fault_send(struct link *link, const struct iovec *part, int parts)
{
	struct fault *f = link->state;
	size_t taken = 0;
	int error;

	if (f->dead && !f->ready.length)
		return -EPIPE;
	for (int i = 0; i < parts; i++) {
		bytes_add(&f->taken, part[i].iov_base, part[i].iov_len);
		taken += part[i].iov_len;
	}
	damage_whole_frames(f);
	error = send_ready(f);
	return error ? -error : (ssize_t)taken;
}

/* Frames of the server, some of them held; how many bytes are there for the client, or -errno. */
static ssize_t receive_frames(struct fault *f)
{
	uint8_t part[65536];
	ssize_t n = f->inner.transport->receive(&f->inner, part, sizeof(part));
	size_t length;

	if (n <= 0 && n != -EAGAIN)
		return n;
	if (n > 0)
		bytes_add(&f->came, part, (size_t)n);
	while ((length = bytes_frame(&f->came))) {
		if (!hold(f, &f->in, f->came.at, length))
			reorder_pass(&f->in, f->came.at, length, &f->ours);
		bytes_take(&f->came, length);
	}
	return f->ours.length ? (ssize_t)f->ours.length : -EAGAIN;
}

static ssize_t receive_in_order(struct fault *f, void *to, size_t room)
{
	ssize_t n = f->ours.length ? (ssize_t)f->ours.length : receive_frames(f);

	if (n <= 0)
		return n;
	n = (size_t)n < room ? n : (ssize_t)room;
	memcpy(to, f->ours.at, (size_t)n);
	bytes_take(&f->ours, (size_t)n);
	return n;
}

static ssize_t fault_receive(struct link *link, void *to, size_t room)
{
	struct fault *f = link->state;
	uint64_t rang;
	ssize_t n;

	if (f->dead || happens(f, DEAF))
		return 0;
	if (read(f->clock, &rang, sizeof(rang)) > 0) {
		reorder_let_go(&f->in, &f->ours);
		reorder_let_go(&f->out, &f->ready);
		send_ready(f);
	}
	n = f->permille[REORDER] ? receive_in_order(f, to, room)
				 : f->inner.transport->receive(&f->inner, to, room);
	for (int flips = 3; n > 0 && flips && happens(f, GARBLE); flips--)
		((uint8_t *)to)[random_below(&f->seed, (uint64_t)n)] ^=
			1 << random_below(&f->seed, 8);
	return n;
}

static void fault_close(struct link *link)
{
	struct fault *f = link->state;

	f->inner.transport->close(&f->inner);
	reorder_let_go(&f->out, &f->ours); /* they are lost */
	reorder_let_go(&f->in, &f->ours);
	fault_reordered += f->out.passed + f->in.passed;
	free(f->taken.at);
	free(f->ready.at);
	free(f->came.at);
	free(f->ours.at);
	close(f->clock);
	close(link->fd);
	free(f);
}

static const struct transport fault = {.scheme = "fault:",
				       .open = fault_open,
				       .send = fault_send,
				       .receive = fault_receive,
				       .close = fault_close};

void fault_add(void)
{
	fwd_transports[TRANSPORTS - 1] = &fault;
}
