/* io_uring through liburing: its queues are read where its functions are called. */
#include "handlers/forget.h"
#include "handlers/uring.h"

#include <fcntl.h>
#include <linux/io_uring.h>
#include <linux/openat2.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "core/raw.h"
#include "handlers/aio.h"
#include "handlers/posix.h"

/* Of liburing 2.0 to 2.x; only what none of them moved. */
struct io_uring {
	struct {
		unsigned *khead, *ktail, *kring_mask, *kring_entries, *kflags, *kdropped, *array;
		struct io_uring_sqe *sqes;
		unsigned sqe_head, sqe_tail;
		size_t ring_sz;
		void *ring_ptr;
		unsigned pad[4];
	} sq;
	struct {
		unsigned *khead, *ktail, *kring_mask, *kring_entries, *kflags, *koverflow;
		struct io_uring_cqe *cqes;
		size_t ring_sz;
		void *ring_ptr;
		unsigned pad[4];
	} cq;
	unsigned flags;
	int ring_fd;
};

enum { RINGS = 256, MOST_FILES = 32768 };

/* Rings of this process. Posts come from the one thread at a time that submits, as liburing asks; completions are
 * read by whoever is not too late. */
static struct {
	_Atomic uint32_t count; /* of ring[] that were ever used */
	atomic_bool bare_noted;
	struct ring {
		_Atomic uintptr_t address; /* 0: free */
		uint32_t object;
		uint32_t posted; /* place in the submission queue up to which posts are rows */
		uint32_t seen;   /* the same of the completion queue */
		_Atomic uint32_t reading;
		uint32_t missed; /* written over before we looked */
		uint32_t files;  /* registered places */
	} ring[RINGS];
} rings;

static struct ring *find(const struct io_uring *u)
{
	for (uint32_t i = 0; i < atomic_load_explicit(&rings.count, memory_order_acquire); i++)
		if (atomic_load(&rings.ring[i].address) == (uintptr_t)u)
			return &rings.ring[i];
	return NULL;
}

static void forget_files(struct ring *r, const struct io_uring *u)
{
	for (uint32_t i = 0; i < r->files; i++)
		handle_take(&queue_files, (uintptr_t)u, i);
	r->files = 0;
}

static void raise_count(uint32_t to)
{
	uint32_t count = atomic_load(&rings.count);

	while (count < to && !atomic_compare_exchange_weak(&rings.count, &count, to))
		;
}

static struct ring *add(struct call *c, const struct io_uring *u)
{
	const struct object_def def = {0};

	for (uint32_t i = 0; i < RINGS; i++) {
		struct ring *r = &rings.ring[i];
		uintptr_t none = 0;

		if (!atomic_compare_exchange_strong(&r->address, &none, (uintptr_t)u))
			continue;
		r->object = object_define(c, OBJECT_QUEUE, &def);
		r->posted = u->sq.sqe_head;
		r->seen = *u->cq.khead;
		r->missed = r->files = 0;
		raise_count(i + 1);
		return r;
	}
	return NULL;
}

/* One that was made unseen, or moved in memory, is known from here on. */
static struct ring *ring_of(const struct io_uring *u)
{
	struct ring *r = find(u);

	return r ? r : add(NULL, u);
}

uint32_t uring_object(const struct io_uring *u)
{
	const struct ring *r = ring_of(u);

	return r ? r->object : 0;
}

void uring_made(struct call *c, int result, const struct io_uring *u)
{
	struct ring *r = find(u);

	if (result < 0)
		return;
	if (r)
		atomic_store(&r->address, 0); /* was never closed */
	r = add(c, u);
	if (r)
		c->object = r->object;
}

void uring_closing(struct call *c, const struct io_uring *u)
{
	struct ring *r = find(u);

	c->scratch[0] = 0;
	if (!r)
		return;
	uring_seen(u, ticks_now());
	c->scratch[0] = aio_forget((uintptr_t)u);
	if (r->missed)
		note("io_uring: %u completions were written over before a call looked", r->missed);
	forget_files(r, u);
	atomic_store(&r->address, 0);
}

int64_t uring_unseen(const struct call *c)
{
	return (int64_t)c->scratch[0];
}

/* ---- rings that the program drives itself ---- */

void uring_bare(void)
{
	if (!call_inside(LAYER_AIO) && !atomic_exchange(&rings.bare_noted, true))
		note("io_uring: the program drives a ring by itself, without liburing's functions: "
		     "what it reads and writes through that is not recorded");
}

static bool is_ring(int fd)
{
	static const char wanted[] = "anon_inode:[io_uring]";
	char path[32], name[sizeof(wanted)];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return raw4(SYS_readlinkat, AT_FDCWD, (long)path, (long)name, sizeof(name)) ==
		       sizeof(wanted) - 1 &&
	       memcmp(name, wanted, sizeof(wanted) - 1) == 0;
}

/* Of each ring the submission queue's entries are mapped once. */
void uring_mapped(int fd, int64_t offset)
{
	if ((uint64_t)offset == IORING_OFF_SQES && is_ring(fd))
		uring_bare();
}

/* ---- posts ---- */

static enum aio_action action_of(uint8_t opcode)
{
	switch (opcode) {
	case IORING_OP_READV:
	case IORING_OP_READ_FIXED:
	case IORING_OP_READ:
		return AIO_READ;
	case IORING_OP_WRITEV:
	case IORING_OP_WRITE_FIXED:
	case IORING_OP_WRITE:
		return AIO_WRITE;
	case IORING_OP_FSYNC:
	case IORING_OP_SYNC_FILE_RANGE:
		return AIO_SYNC;
	case IORING_OP_OPENAT:
	case IORING_OP_OPENAT2:
		return AIO_OPEN;
	case IORING_OP_CLOSE:
	case IORING_OP_STATX:
	case IORING_OP_FALLOCATE:
	case IORING_OP_FADVISE:
	case IORING_OP_SPLICE:
	case IORING_OP_TEE:
	case IORING_OP_RENAMEAT:
	case IORING_OP_UNLINKAT:
	case IORING_OP_MKDIRAT:
	case IORING_OP_LINKAT:
	case IORING_OP_FSETXATTR:
	case IORING_OP_FGETXATTR:
		return AIO_OTHER;
	}
	return AIO_NO_FILE;
}

static uint32_t file_of(const struct io_uring *u, const struct io_uring_sqe *s)
{
	const char *path = (const char *)(uintptr_t)s->addr;

	switch (s->opcode) {
	case IORING_OP_OPENAT:
	case IORING_OP_OPENAT2:
	case IORING_OP_STATX:
	case IORING_OP_RENAMEAT:
	case IORING_OP_UNLINKAT:
	case IORING_OP_MKDIRAT:
	case IORING_OP_LINKAT:
		return posix_at(s->fd, path, AT_EMPTY_PATH);
	}
	if (s->flags & IOSQE_FIXED_FILE)
		return (uint32_t)handle_get(&queue_files, (uintptr_t)u, (uint32_t)s->fd);
	return descriptor_object(s->fd);
}

static int64_t size_of(const struct io_uring_sqe *s)
{
	switch (s->opcode) {
	case IORING_OP_READV:
	case IORING_OP_WRITEV:
		return posix_vector_bytes((const struct iovec *)(uintptr_t)s->addr, (int)s->len);
	case IORING_OP_FALLOCATE:
		return (int64_t)s->addr;
	case IORING_OP_STATX: /* len is a mask, or a mode */
	case IORING_OP_OPENAT:
	case IORING_OP_OPENAT2:
	case IORING_OP_MKDIRAT:
	case IORING_OP_RENAMEAT:
	case IORING_OP_LINKAT:
		return 0;
	}
	return s->len;
}

static int64_t offset_of(const struct io_uring_sqe *s, enum aio_action action)
{
	const bool has = action <= AIO_SYNC || s->opcode == IORING_OP_FALLOCATE ||
			 s->opcode == IORING_OP_FADVISE;

	return has && s->off != UINT64_MAX ? (int64_t)s->off : UNKNOWN_OFFSET;
}

/* Flags of an open, for the descriptor that comes with its completion. */
static int flags_of(const struct io_uring_sqe *s)
{
	const struct open_how *how = (const struct open_how *)(uintptr_t)s->off;

	if (s->opcode == IORING_OP_OPENAT2)
		return posix_readable(how) ? (int)how->flags : 0;
	return (int)s->open_flags;
}

static void post(const struct io_uring *u, const struct io_uring_sqe *s, uint64_t now)
{
	struct aio_post p = {
		.queue = (uintptr_t)u,
		.key = s->user_data,
		.action = action_of(s->opcode),
		.opcode = s->opcode,
	};

	if (p.action != AIO_NO_FILE) {
		p.object = file_of(u, s);
		p.size = size_of(s);
		p.offset = offset_of(s, p.action);
	}
	aio_post_row(&p, now);
	if (s->opcode == IORING_OP_CLOSE && !s->file_index)
		descriptor_close(s->fd);
	if (p.action == AIO_OPEN) {
		p.opcode = flags_of(s);
		if (s->file_index) { /* into the table of files, not a descriptor */
			p.action = AIO_OTHER;
			handle_put(&queue_files, (uintptr_t)u, s->file_index - 1, p.object);
		}
	}
	aio_pend(&p);
}

void uring_posting(const struct io_uring *u)
{
	struct ring *r = ring_of(u);
	const unsigned mask = *u->sq.kring_mask, shift = !!(u->flags & IORING_SETUP_SQE128);
	const uint64_t now = ticks_now();

	if (!r)
		return;
	if (u->sq.sqe_tail - r->posted > *u->sq.kring_entries)
		r->posted = u->sq.sqe_head; /* handed over by calls that were not recorded */
	for (; r->posted != u->sq.sqe_tail; r->posted++)
		post(u, &u->sq.sqes[(r->posted & mask) << shift], now);
}

/* ---- completions ---- */

uint32_t uring_seen(const struct io_uring *u, uint64_t ended)
{
	struct ring *r = ring_of(u);
	const unsigned mask = *u->cq.kring_mask, entries = *u->cq.kring_entries;
	const unsigned shift = !!(u->flags & IORING_SETUP_CQE32);
	uint32_t count = 0, tail;

	if (!r || atomic_exchange(&r->reading, 1))
		return 0; /* another thread is at it */
	while ((tail = __atomic_load_n(u->cq.ktail, __ATOMIC_ACQUIRE)) != r->seen) {
		struct io_uring_cqe e;

		if (tail - r->seen > entries) {
			r->missed += tail - r->seen - entries;
			r->seen = tail - entries;
		}
		e = u->cq.cqes[(r->seen & mask) << shift];
		if (__atomic_load_n(u->cq.ktail, __ATOMIC_ACQUIRE) - r->seen > entries)
			continue; /* written over while we read */
		r->seen++;
		count += aio_done((uintptr_t)u, e.user_data, e.flags & IORING_CQE_F_MORE, e.res,
				  ended);
	}
	atomic_store(&r->reading, 0);
	return count;
}

void uring_waited(struct call *c, const struct io_uring *u, unsigned least, uint64_t ended)
{
	c->cancel = !uring_seen(u, ended) && !least;
}

/* ---- files by number ---- */

void uring_files(int result, const struct io_uring *u, unsigned first, const int *files,
		 unsigned count)
{
	struct ring *r = ring_of(u);

	if (result < 0 || !r)
		return;
	for (unsigned i = first; i < first + count && i < MOST_FILES; i++) {
		handle_take(&queue_files, (uintptr_t)u, i);
		if (files[i - first] >= 0)
			handle_put(&queue_files, (uintptr_t)u, i,
				   descriptor_object(files[i - first]));
		if (i >= r->files)
			r->files = i + 1;
	}
}

void uring_no_files(int result, const struct io_uring *u)
{
	struct ring *r = ring_of(u);

	if (result == 0 && r)
		forget_files(r, u);
}

void uring_forget(void)
{
	memory_wipe(&rings, sizeof(rings));
}
