/* Locks, kept by the server. The kernel names their owners: a process's table of descriptors, or an open file. A lock that waits
 * has a thread of its own: those of the mount are needed by whoever is to give it back. */
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "flock.h"
#include "mount.h"

enum {
	ROUND = 250, /* ms that a lock is waited for until it is looked whether the caller was interrupted */
	MOST_WAITS = 1024, /* at once; more are refused: ENOLCK */
};

struct opened {
	pthread_mutex_t lock;
	uint64_t *owner; /* of locks made by it, that have not closed it since */
	uint32_t n, room;
	int access;             /* O_ACCMODE of its flags */
	_Atomic uint64_t epoch; /* of the server that holds it */
	_Atomic uint64_t
		errors; /* of writes that had failed, when it was opened or was last told */
};

/* A lock that is waited for. */
struct wait {
	fuse_req_t req;
	fuse_ino_t ino;
	struct fathom_fwd_lock lock;
};

static struct {
	_Atomic int count;
	_Atomic bool over; /* the mount ends */
} waits;

struct opened *opened_new(int flags)
{
	struct opened *o = calloc(1, sizeof(*o));

	if (!o)
		return NULL;
	pthread_mutex_init(&o->lock, NULL);
	o->access = flags & O_ACCMODE;
	atomic_store(&o->epoch, fathom_fwd_epoch(mount_point.client));
	atomic_store(&o->errors, fathom_fwd_errors(mount_point.client));
	return o;
}

static struct opened *opened_of(const struct fuse_file_info *fi)
{
	return (struct opened *)(uintptr_t)fi->fh;
}

bool opened_writes(const struct fuse_file_info *fi)
{
	return opened_of(fi) && opened_of(fi)->access != O_RDONLY;
}

void opened_hold(struct ask *a, const struct fuse_file_info *fi)
{
	struct opened *o = opened_of(fi);
	uint64_t epoch = fathom_fwd_epoch(mount_point.client);
	uint32_t flags = 0;

	if (!o || atomic_exchange(&o->epoch, epoch) == epoch)
		return;
	flags |= o->access != O_WRONLY ? FATHOM_FWD_READ : 0;
	flags |= o->access != O_RDONLY ? FATHOM_FWD_WRITE : 0;
	fathom_fwd_open(mount_point.client, node_handle(a->node), "", flags, 0, NULL, NULL,
			&a->hints);
}

void opened_fence(struct ask *a, const struct fuse_file_info *fi)
{
	struct opened *o = fi ? opened_of(fi) : NULL;

	if (!o)
		return;
	pthread_mutex_lock(&o->lock);
	a->hints.locked = o->n ? FATHOM_FWD_BY_CLIENT : 0;
	a->hints.owners = o->n < OWNERS ? (uint16_t)o->n : OWNERS;
	a->hints.owner = a->owner;
	if (o->n)
		memcpy(a->owner, o->owner + o->n - a->hints.owners,
		       a->hints.owners * sizeof(*a->owner));
	pthread_mutex_unlock(&o->lock);
}

void opened_held(const struct ask *a, const struct fuse_file_info *fi)
{
	if (a->hints.by_path && opened_of(fi))
		atomic_store(&opened_of(fi)->epoch, fathom_fwd_epoch(mount_point.client));
}

int opened_error(const struct ask *a, const struct fuse_file_info *fi, bool reports)
{
	struct opened *o = opened_of(fi);
	uint64_t mark = o ? atomic_load(&o->errors) : 0;
	int error;

	if (!o)
		return 0;
	error = fathom_fwd_error_since(mount_point.client, node_handle(a->node), &mark);
	if (reports)
		atomic_store(&o->errors, mark);
	return error;
}

static int note(struct opened *o, uint64_t owner)
{
	int error = 0;

	pthread_mutex_lock(&o->lock);
	for (uint32_t i = 0; i < o->n; i++)
		if (o->owner[i] == owner)
			goto out;
	if (o->n == o->room) {
		uint64_t *more = realloc(o->owner, (2 * o->room + 2) * sizeof(*more));

		if (!more) {
			error = ENOMEM;
			goto out;
		}
		o->owner = more;
		o->room = 2 * o->room + 2;
	}
	o->owner[o->n++] = owner;
out:
	pthread_mutex_unlock(&o->lock);
	return error;
}

static bool forget(struct opened *o, uint64_t owner)
{
	bool had = false;

	pthread_mutex_lock(&o->lock);
	for (uint32_t i = 0; i < o->n && !had; i++) {
		had = o->owner[i] == owner;
		if (had)
			o->owner[i] = o->owner[--o->n];
	}
	pthread_mutex_unlock(&o->lock);
	return had;
}

static int unlock(fuse_ino_t ino, const struct fathom_fwd_lock *lock)
{
	struct ask a;

	ask_begin(&a, ino);
	return ask_end(&a,
		       fathom_fwd_unlock(mount_point.client, node_handle(a.node), lock, &a.hints));
}

static void unlock_all(fuse_ino_t ino, uint64_t owner, uint32_t flags)
{
	struct fathom_fwd_lock all = {.owner = owner, .flags = flags};
	struct ask a;

	ask_begin(&a, ino);
	if (fathom_fwd_has_locks(mount_point.client, node_handle(a.node), &all))
		unlock(ino, &all);
}

/* Of a file that another descriptor of the process locked, too: so POSIX wants it. */
void opened_flush(fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct opened *o = opened_of(fi);

	if (!o)
		return;
	forget(o, fi->lock_owner);
	unlock_all(ino, fi->lock_owner, 0);
}

void opened_end(fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct opened *o = opened_of(fi);

	if (!o)
		return;
	for (uint32_t i = 0; i < o->n; i++)
		unlock_all(ino, o->owner[i], 0);
	if (fi->flock_release)
		unlock_all(ino, fi->lock_owner, FATHOM_FWD_LOCK_WHOLE);
	free(o->owner);
	free(o);
	fi->fh = 0;
}

/* Once; `round` ms at most, 0: as any call. */
static int try(fuse_ino_t ino, const struct fathom_fwd_lock *lock, uint32_t round)
{
	struct ask a;
	int error;

	ask_begin(&a, ino);
	if (round)
		a.hints.timeout = round;
	error = fathom_fwd_lock(mount_point.client, node_handle(a.node), lock, &a.hints);
	return round && error == ETIMEDOUT ? EAGAIN : ask_end(&a, error);
}

static void *wait_for(void *with)
{
	struct wait *w = with;
	int error;

	do
		error = try(w->ino, &w->lock, ROUND);
	while (error == EAGAIN && !fuse_req_interrupted(w->req) && !atomic_load(&waits.over));
	fuse_reply_err(w->req, error == EAGAIN ? EINTR : error);
	free(w);
	atomic_fetch_sub(&waits.count, 1);
	return NULL;
}

static int begin_wait(fuse_req_t req, fuse_ino_t ino, const struct fathom_fwd_lock *lock)
{
	struct wait *w = malloc(sizeof(*w));
	pthread_t thread;
	int error = w ? 0 : ENOMEM;

	if (atomic_fetch_add(&waits.count, 1) >= MOST_WAITS)
		error = ENOLCK;
	if (!error) {
		*w = (struct wait){.req = req, .ino = ino, .lock = *lock};
		w->lock.flags |= FATHOM_FWD_LOCK_WAIT;
		error = pthread_create(&thread, NULL, wait_for, w);
	}
	if (!error) {
		pthread_detach(thread);
		return 0;
	}
	free(w);
	atomic_fetch_sub(&waits.count, 1);
	return error;
}

void locks_end(void)
{
	atomic_store(&waits.over, true);
	while (atomic_load(&waits.count))
		usleep(ROUND * 1000 / 10);
}

/* What can be had at once is; only the rest needs a thread. */
static void lock(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi,
		 const struct fathom_fwd_lock *wanted, bool wait)
{
	int error = opened_of(fi) ? note(opened_of(fi), wanted->owner) : 0;

	if (!error)
		error = try(ino, wanted, 0);
	if (error == EAGAIN && wait) {
		error = begin_wait(req, ino, wanted);
		if (!error)
			return; /* the thread answers */
	}
	fuse_reply_err(req, error);
}

static struct fathom_fwd_lock range_of(const struct fuse_file_info *fi, const struct flock *range)
{
	return (struct fathom_fwd_lock){.owner = fi->lock_owner,
					.flags = FATHOM_FWD_LOCK_PROCESS,
					.mode = flock_mode(range->l_type),
					.pid = (uint32_t)range->l_pid,
					.start = (uint64_t)range->l_start,
					.length = (uint64_t)range->l_len};
}

void do_getlk(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi, struct flock *range)
{
	struct fathom_fwd_lock conflict = range_of(fi, range);
	struct ask a;
	int error;

	ask_begin(&a, ino);
	error = ask_end(&a, fathom_fwd_locked(mount_point.client, node_handle(a.node), &conflict,
					      &a.hints));
	if (error) {
		fuse_reply_err(req, error);
		return;
	}
	flock_from_lock(range, &conflict);
	fuse_reply_lock(req, range);
}

void do_setlk(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi, struct flock *range,
	      int wait)
{
	struct fathom_fwd_lock wanted = range_of(fi, range);

	if (wanted.mode == FATHOM_FWD_LOCK_NONE)
		fuse_reply_err(req, unlock(ino, &wanted));
	else
		lock(req, ino, fi, &wanted, wait);
}

void do_flock(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi, int operation)
{
	struct fathom_fwd_lock wanted = {.owner = fi->lock_owner, .flags = FATHOM_FWD_LOCK_WHOLE};

	if (operation & LOCK_UN) {
		fuse_reply_err(req, unlock(ino, &wanted));
		return;
	}
	wanted.mode = operation & LOCK_SH ? FATHOM_FWD_LOCK_SHARED : FATHOM_FWD_LOCK_EXCLUSIVE;
	lock(req, ino, fi, &wanted, !(operation & LOCK_NB));
}
