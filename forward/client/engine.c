/* Moves requests and answers. No thread of its own: of the threads that wait, one at a time pumps for all. */
#include "engine.h"

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
	FIRST_PAUSE = 10, /* ms between attempts to connect; doubles */
	LONGEST_PAUSE = 1000,
	HANDSHAKE = 5000, /* ms */
};

/* ---- connections ---- */

/* Those that nobody waits for go with their connection: they cannot be sent again without their data. */
static void forget_abandoned(struct fathom_fwd *c)
{
	struct fathom_fwd_request *next;

	for (struct fathom_fwd_request *r = c->first; r; r = next) {
		next = r->next;
		if (!r->abandoned)
			continue;
		request_unlink(c, r);
		request_free(r);
	}
}

static void close_link(struct fathom_fwd *c)
{
	if (c->up)
		c->link.transport->close(&c->link);
	c->up = c->broken = false;
	c->in_have = c->in_need = 0;
	c->landing.request = NULL;
	outs_free(c);
	forget_abandoned(c);
	c->trouble = ECONNRESET;
	*c->why = 0;
	for (struct fathom_fwd_request *r = c->first; r; r = r->next)
		r->received = 0;
}

/* Who sent it counted on locks that are lost: somebody else may have them. */
static bool is_fenced(const struct fathom_fwd *c, const struct fathom_fwd_request *r, bool anew)
{
	return (r->locked & FATHOM_FWD_BY_CLIENT && locks_are_lost(&c->locks, r)) ||
	       (r->locked & FATHOM_FWD_BY_SESSION && anew);
}

static void welcome(struct fathom_fwd *c, const struct link *link, const struct server *server)
{
	bool again = c->server.epoch, anew = again && c->server.epoch != server->epoch;

	if (server->goes_on)
		ledger_committed(&c->ledger, NULL);
	else if (anew)
		ledger_server_restarted(&c->ledger);
	if (server->unlocked)
		locks_lost(&c->locks);
	c->server = *server;
	c->link = *link;
	c->up = true;
	c->pause = 0;
	c->trouble = 0;
	*c->why = 0;
	for (struct fathom_fwd_request *r = c->first; r && !c->broken; r = r->next) {
		if (!request_is_open(r))
			continue;
		if (is_fenced(c, r, anew)) {
			r->lost = EIO;
			continue;
		}
		if (again) /* else one that has to be asked for its path would be passed by the next */
			request_add_paths(r);
		outs_add_request(c, r);
	}
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
	outs_flush(c);
	if (c->broken)
		return;
	if (poll_unlocked(c, c->link.fd,
			  link_events(&c->link, POLLIN | (c->out_first ? POLLOUT : 0)), due)) {
		engine_receive(c);
		outs_flush(c);
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
	while (r ? request_is_open(r) : !request_window_is_open(c)) {
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
		outs_add_request(c, r);
	c->next_seq++;
	if (c->last)
		c->last->next = r;
	else
		c->first = r;
	c->last = r;
	outs_flush(c);
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
	r->paths = 0;
	r->locked = 0;
	r->abandoned = true;
}

void engine_drop(struct fathom_fwd *c, struct fathom_fwd_request *r)
{
	if (r->head.seq && request_is_open(r) && c->up) {
		take_back(c, r);
		if (c->broken && !c->pumping)
			close_link(c);
		return;
	}
	if (r->head.seq)
		request_unlink(c, r);
	request_free(r);
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

		request_unlink(c, r);
		request_free(r);
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
