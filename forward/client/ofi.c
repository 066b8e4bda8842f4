/* Bytes over an endpoint: messages with credits, so that none ever comes for which there is no buffer. */
#if __has_include(<rdma/fabric.h>)
#include "ofi_link.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
	MAGIC = 0x4f445746, /* "FWDO" */
	EVENTS = 8,         /* read at once */
	ROUNDS = 64,        /* of reading the queues: more, and the caller's turn is over */
};

static void add(struct ofi_queue *q, struct ofi_message *m)
{
	m->next = NULL;
	if (q->first)
		q->last->next = m;
	else
		q->first = m;
	q->last = m;
}

static struct ofi_message *take(struct ofi_queue *q)
{
	struct ofi_message *m = q->first;

	if (m)
		q->first = m->next;
	return m;
}

static void put_number(uint8_t *to, uint32_t value, int bytes)
{
	for (int i = 0; i < bytes; i++)
		to[i] = (uint8_t)(value >> 8 * i);
}

static uint32_t get_number(const uint8_t *from, int bytes)
{
	uint32_t value = 0;

	for (int i = 0; i < bytes; i++)
		value |= (uint32_t)from[i] << 8 * i;
	return value;
}

int ofi_errno(ssize_t code)
{
	if (code < 0)
		code = -code;
	return code < FI_ERRNO_OFFSET ? (int)code : EIO;
}

void ofi_greet(uint8_t greeting[OFI_GREETING])
{
	put_number(greeting, MAGIC, 4);
	put_number(greeting + 4, OFI_WINDOW, 2);
	put_number(greeting + 6, 0, 2);
	put_number(greeting + 8, OFI_MESSAGE, 4);
}

bool ofi_greeted(struct ofi *o, const uint8_t *greeting, size_t length)
{
	if (length < OFI_GREETING || get_number(greeting, 4) != MAGIC)
		return false;
	o->credits = get_number(greeting + 4, 2);
	o->room = get_number(greeting + 8, 4);
	if (o->room > OFI_MESSAGE)
		o->room = OFI_MESSAGE;
	return o->credits >= 2 && o->room > OFI_HEAD;
}

/* ---- what came ---- */

static void post(struct ofi *o)
{
	void *descriptor = o->mr ? fi_mr_desc(o->mr) : NULL;

	while (o->unposted.first && !o->error && !o->ended) {
		struct ofi_message *m = o->unposted.first;
		ssize_t done = fi_recv(o->ep, m->bytes, OFI_MESSAGE, descriptor, 0, &m->context);

		if (done == -FI_EAGAIN)
			return;
		if (done) {
			o->error = ofi_errno(done);
			return;
		}
		take(&o->unposted);
		o->owed += m->length > OFI_HEAD; /* its place was one with data */
	}
}

static void take_message(struct ofi *o, struct ofi_message *m, size_t length)
{
	m->length = (uint32_t)length;
	m->taken = OFI_HEAD;
	if (length < OFI_HEAD || length > OFI_MESSAGE) {
		o->error = EPROTO;
		return;
	}
	o->credits += get_number(m->bytes, 2);
	add(length > OFI_HEAD ? &o->arrived : &o->unposted, m);
}

static void take_error(struct ofi *o)
{
	struct fi_cq_err_entry error = {.err = 0};

	if (fi_cq_readerr(o->cq, &error, 0) < 0 || o->error || o->ended)
		return;
	/* a connection that ends gives back what was posted */
	if (error.err == FI_ECANCELED || error.err == FI_ENOTCONN || error.err == FI_ESHUTDOWN)
		o->ended = true;
	else
		o->error = ofi_errno(error.err);
}

static void take_event(struct ofi *o)
{
	uint8_t bytes[sizeof(struct fi_eq_cm_entry) + 256];
	struct fi_eq_err_entry error = {.err = 0};
	uint32_t event;
	ssize_t n = fi_eq_read(o->eq, &event, bytes, sizeof(bytes), 0);

	if (n == -FI_EAVAIL) {
		if (fi_eq_readerr(o->eq, &error, 0) > 0 && !o->ended)
			o->error = error.err ? ofi_errno(error.err) : EIO;
		return;
	}
	if (n < 0)
		return;
	if (event == FI_SHUTDOWN)
		o->ended = true;
	if (event != FI_CONNECTED)
		return;
	if (o->room || ofi_greeted(o, ((struct fi_eq_cm_entry *)bytes)->data,
				   (size_t)n - sizeof(struct fi_eq_cm_entry)))
		o->connected = true;
	else
		o->error = EPROTO;
	o->socket = ofi_own_socket(o);
}

/* Whether something was read. */
static bool read_queue(struct ofi *o)
{
	struct fi_cq_msg_entry event[EVENTS];
	ssize_t n = fi_cq_read(o->cq, event, EVENTS);

	if (n == -FI_EAVAIL) {
		take_error(o);
		return true;
	}
	if (n < 0 && n != -FI_EAGAIN)
		o->error = ofi_errno(n);
	for (ssize_t i = 0; i < n; i++) {
		struct ofi_message *m = event[i].op_context;

		if (m->sent)
			add(&o->free, m);
		else
			take_message(o, m, event[i].len);
	}
	return n > 0;
}

static bool may_send(const struct ofi *o, uint32_t credits)
{
	return o->connected && !o->error && !o->ended && o->free.first && credits;
}

/* The message that is next, with `length` bytes in it. False: it cannot go now. */
static bool send_message(struct ofi *o, uint32_t length)
{
	struct ofi_message *m = o->free.first;
	ssize_t done;

	put_number(m->bytes, o->owed, 2);
	put_number(m->bytes + 2, 0, 2);
	done = fi_send(o->ep, m->bytes, length, o->mr ? fi_mr_desc(o->mr) : NULL, 0, &m->context);
	if (done) {
		if (done != -FI_EAGAIN)
			o->error = ofi_errno(done);
		return false;
	}
	take(&o->free);
	o->owed = 0;
	return true;
}

/* The descriptor is readable while what is waited for may be done without another event. */
static void settle(struct ofi *o)
{
	bool over = o->ended || o->error;
	bool ready = (o->wants_receive && (o->arrived.first || over)) ||
		     (o->wants_send && (may_send(o, o->credits) || over));
	uint64_t count = 1;

	if (ready == o->rung)
		return;
	o->rung = ready;
	if ((ready ? write(o->ready, &count, sizeof(count))
		   : read(o->ready, &count, sizeof(count))) < 0)
		o->error = errno;
}

static bool may_wait(struct ofi *o)
{
	struct fid *both[] = {&o->cq->fid, &o->eq->fid};

	return fi_trywait(o->waits_in, both, 2) == FI_SUCCESS;
}

void ofi_progress(struct ofi *o)
{
	for (int i = 0; i < ROUNDS && !o->error; i++) {
		bool over = o->ended, more = read_queue(o);

		post(o);
		if (!more)
			take_event(o);
		if (!more && (over || may_wait(o)))
			break;
	}
	if (o->owed >= OFI_WINDOW / 2 && may_send(o, 1))
		send_message(o, OFI_HEAD);
}

/* ---- what the callers use ---- */

ssize_t ofi_send(struct ofi *o, const struct iovec *part, int parts)
{
	size_t sent = 0, skip = 0;

	ofi_progress(o);
	while (parts && may_send(o, o->credits)) {
		uint8_t *to = o->free.first->bytes;
		uint32_t length = OFI_HEAD;
		const struct iovec *at = part;
		size_t from = skip;
		int left = parts;

		while (left && length < o->room) {
			size_t n = at->iov_len - from, room = o->room - length;

			n = n < room ? n : room;
			memcpy(to + length, (const char *)at->iov_base + from, n);
			length += (uint32_t)n;
			from += n;
			if (from == at->iov_len) {
				at++;
				left--;
				from = 0;
			}
		}
		if (length == OFI_HEAD || !send_message(o, length))
			break;
		o->credits--;
		sent += length - OFI_HEAD;
		part = at;
		parts = left;
		skip = from;
	}
	settle(o);
	if (sent)
		return (ssize_t)sent;
	return o->error ? -o->error : o->ended ? -EPIPE : -EAGAIN;
}

ssize_t ofi_receive(struct ofi *o, void *to, size_t room)
{
	size_t got = 0;

	ofi_progress(o);
	while (o->arrived.first && got < room) {
		struct ofi_message *m = o->arrived.first;
		size_t n = m->length - m->taken;

		n = n < room - got ? n : room - got;
		memcpy((uint8_t *)to + got, m->bytes + m->taken, n);
		m->taken += (uint32_t)n;
		got += n;
		if (m->taken == m->length)
			add(&o->unposted, take(&o->arrived));
	}
	if (o->unposted.first)
		ofi_progress(o); /* they are posted, and the peer is told */
	settle(o);
	if (got)
		return (ssize_t)got;
	return o->error ? -o->error : o->ended ? 0 : -EAGAIN;
}

void ofi_watch(struct ofi *o, bool receive, bool send)
{
	o->wants_receive = receive;
	o->wants_send = send;
	if (send)
		ofi_progress(o);
	settle(o);
}

int ofi_descriptor(struct ofi *o)
{
	int set = o->set;

	o->set = -1;
	return set;
}

static int watch_queue(struct ofi *o, struct fid *queue)
{
	struct epoll_event readable = {.events = EPOLLIN};
	int fd = -1, error = ofi_errno(fi_control(queue, FI_GETWAIT, &fd));

	if (!error && epoll_ctl(o->set, EPOLL_CTL_ADD, fd, &readable))
		error = errno;
	return error;
}

static int make_descriptors(struct ofi *o)
{
	struct epoll_event readable = {.events = EPOLLIN};
	int error;

	o->set = epoll_create1(EPOLL_CLOEXEC);
	o->ready = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (o->set < 0 || o->ready < 0 || epoll_ctl(o->set, EPOLL_CTL_ADD, o->ready, &readable))
		return errno;
	error = watch_queue(o, &o->cq->fid);
	return error ? error : watch_queue(o, &o->eq->fid);
}

/* Pages that are not touched before a message comes. */
static int make_buffers(struct ofi *o, struct fid_domain *domain, const struct fi_info *info)
{
	const size_t bytes = 2 * OFI_MESSAGES * (size_t)OFI_MESSAGE;

	o->memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (o->memory == MAP_FAILED) {
		o->memory = NULL;
		return ENOMEM;
	}
	madvise(o->memory, bytes, MADV_DONTFORK); /* the device writes into it */
	for (size_t i = 0; i < OFI_MESSAGES; i++) {
		o->in[i].bytes = o->memory + i * OFI_MESSAGE;
		o->out[i].bytes = o->memory + (OFI_MESSAGES + i) * OFI_MESSAGE;
		o->out[i].sent = true;
		add(&o->unposted, &o->in[i]);
		add(&o->free, &o->out[i]);
	}
	if (!(info->domain_attr->mr_mode & FI_MR_LOCAL))
		return 0;
	return ofi_errno(
		fi_mr_reg(domain, o->memory, bytes, FI_SEND | FI_RECV, 0, 0, 0, &o->mr, NULL));
}

int ofi_make(struct ofi *o, struct fid_domain *domain, struct fi_info *info)
{
	struct fi_eq_attr events = {.wait_obj = FI_WAIT_FD};
	struct fi_cq_attr completions = {
		.size = 4 * OFI_MESSAGES, .format = FI_CQ_FORMAT_MSG, .wait_obj = FI_WAIT_FD};
	ssize_t failed;

	o->whose = getpid();
	o->wants_receive = true;
	if ((failed = make_buffers(o, domain, info)))
		return (int)failed;
	if ((failed = fi_eq_open(o->waits_in, &events, &o->eq, NULL)) ||
	    (failed = fi_cq_open(domain, &completions, &o->cq, NULL)) ||
	    (failed = fi_endpoint(domain, info, &o->ep, o)) ||
	    (failed = fi_ep_bind(o->ep, &o->eq->fid, 0)) ||
	    (failed = fi_ep_bind(o->ep, &o->cq->fid, FI_TRANSMIT | FI_RECV)) ||
	    (failed = fi_enable(o->ep)))
		return ofi_errno(failed);
	post(o);
	return o->error ? o->error : make_descriptors(o);
}

void ofi_close(struct ofi *o)
{
	struct fid *all[] = {
		o->ep ? &o->ep->fid : NULL,         o->cq ? &o->cq->fid : NULL,
		o->eq ? &o->eq->fid : NULL,         o->mr ? &o->mr->fid : NULL,
		o->domain ? &o->domain->fid : NULL, o->fabric ? &o->fabric->fid : NULL};

	if (o->set >= 0)
		close(o->set);
	if (o->ready >= 0)
		close(o->ready);
	if (o->whose != getpid() && o->socket >= 0)
		close(o->socket); /* so that the connection ends with the parent */
	if (o->whose == getpid()) {
		if (o->ep)
			fi_shutdown(o->ep, 0);
		for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
			if (all[i])
				fi_close(all[i]);
		if (o->memory)
			munmap(o->memory, 2 * OFI_MESSAGES * (size_t)OFI_MESSAGE);
	}
	free(o);
}
#endif
