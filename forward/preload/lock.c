/* Locks, kept by the server. Those of fcntl are this process's; those of an open file (flock, OFD) last as long as a process has
 * it: their session is a connection that fork hands on as it does the file. */
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "flock.h"
#include "skin.h"

enum { ROUND = 250 /* ms that a lock is waited for until signals are looked at */ };

enum { HELD_WHOLE = 1, HELD_RANGES = 2 };

typedef int lock_call(struct fathom_fwd *, const struct fathom_fwd_handle *,
		      const struct fathom_fwd_lock *, struct fathom_fwd_hints *);

static _Atomic bool locks_were_made; /* of this process, or of one that it was forked from */

/* One question, for at most `timeout` ms (0: as any call); an errno. That a round was too short is nobody's trouble. */
static int ask(struct file *f, lock_call *call, const struct fathom_fwd_lock *lock,
	       uint32_t timeout)
{
	struct asking a;
	int error = file_asking(&a, f);

	if (timeout)
		a.hints.timeout = timeout;
	if (!error)
		error = call(a.client, &f->shared->handle, lock, &a.hints);
	asking_end(&a, timeout && error == ETIMEDOUT ? 0 : error);
	return error;
}

/* A signal came that the program handles, and wants to hear of in calls that wait. */
static bool is_interrupted(const sigset_t *blocked)
{
	struct sigaction action;
	sigset_t pending;

	sigpending(&pending);
	for (int signal = 1; signal < NSIG; signal++)
		if (sigismember(&pending, signal) == 1 && sigismember(blocked, signal) == 0 &&
		    !sigaction(signal, NULL, &action) && action.sa_handler != SIG_IGN &&
		    action.sa_handler != SIG_DFL && !(action.sa_flags & SA_RESTART))
			return true;
	return false;
}

/* Signals wait for the end of a round; those that interrupt nothing are handled between two. */
static int wait_for(struct file *f, const struct fathom_fwd_lock *lock)
{
	uint32_t round = ROUND;
	bool interrupted;
	sigset_t signals;
	int error;

	do {
		hold_signals(&signals);
		error = ask(f, fathom_fwd_lock, lock, round);
		interrupted = is_interrupted(&signals);
		pthread_sigmask(SIG_SETMASK, &signals, NULL);
		if (error != EAGAIN && (error != ETIMEDOUT || !round))
			return error;
		round = error == ETIMEDOUT ? 0 : ROUND; /* then it has the time of any call */
	} while (!interrupted);
	return EINTR;
}

static int change(struct file *f, const struct fathom_fwd_lock *lock)
{
	int error;

	if (lock->mode != FATHOM_FWD_LOCK_EXCLUSIVE)
		data_settle(
			f); /* who locks next may read by another server; an error is told by fsync or close */
	if (lock->mode == FATHOM_FWD_LOCK_NONE)
		error = ask(f, fathom_fwd_unlock, lock, 0);
	else if (lock->flags & FATHOM_FWD_LOCK_WAIT)
		error = wait_for(f, lock);
	else
		error = ask(f, fathom_fwd_lock, lock, 0);
	if (error)
		errno = error;
	return error ? -1 : 0;
}

/* ---- sessions ---- */

static int new_session(struct file *f)
{
	uint64_t session, none = 0;
	struct asking a;
	int fd = -1, error = asking_begin(&a, f->shared->path), no_fd = 0;

	if (!error)
		error = fathom_fwd_session(a.client, &session, &fd);
	if (asking_end(&a, error))
		return -1;
	if (!atomic_compare_exchange_strong(&f->shared->session, &none, session)) {
		next_close(fd); /* another thread or process was faster */
		return 0;
	}
	fd = file_private(fd);
	if (!atomic_compare_exchange_strong(&f->lock, &no_fd, fd))
		next_close(fd);
	return 0;
}

/* The server has let go of it: so have its locks. */
static bool is_over(struct file *f)
{
	int fd = atomic_load(&f->lock);
	char byte;
	ssize_t n = fd ? recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) : 1;

	return n == 0 || (n < 0 && errno != EAGAIN);
}

static void end_session(struct file *f)
{
	int fd = atomic_exchange(&f->lock, 0);

	atomic_store(&f->shared->session, 0);
	atomic_store(&f->shared->held, 0);
	if (fd) {
		file_set(fd, NULL);
		next_close(fd);
	}
}

static void say_lost(const struct file *f)
{
	complain(26, "the locks of %s were lost: the server was started anew, or was away",
		 f->shared->path);
}

int lock_kept(struct asking *a, struct file *f)
{
	bool held = atomic_load(&f->shared->held);

	a->hints.locked = (atomic_load(&locks_were_made) ? FATHOM_FWD_BY_CLIENT : 0) |
			  (held ? FATHOM_FWD_BY_SESSION : 0);
	if (!held || !is_over(f))
		return 0;
	say_lost(f);
	return EIO;
}

/* Nothing is locked any more. */
static bool narrows_to_nothing(struct shared *s, const struct fathom_fwd_lock *lock)
{
	struct span span = {atomic_load(&s->first), atomic_load(&s->last)};
	bool nothing = span_narrow(&span, lock);

	atomic_store(&s->first, span.first);
	atomic_store(&s->last, span.last);
	return nothing;
}

static void widen(struct shared *s, const struct fathom_fwd_lock *lock)
{
	bool first = !(atomic_load(&s->held) & HELD_RANGES);
	struct span span = {atomic_load(&s->first), atomic_load(&s->last)};

	if (first)
		span = span_of(lock);
	else
		span_widen(&span, lock);
	atomic_store(&s->first, span.first);
	atomic_store(&s->last, span.last);
}

static int change_held(struct file *f, const struct fathom_fwd_lock *lock, int kind)
{
	struct shared *s = f->shared;

	if (change(f, lock))
		return -1;
	if (lock->mode != FATHOM_FWD_LOCK_NONE) {
		if (kind == HELD_RANGES)
			widen(s, lock);
		atomic_fetch_or(&s->held, kind);
	} else if (kind == HELD_WHOLE || narrows_to_nothing(s, lock)) {
		atomic_fetch_and(&s->held, ~kind);
	}
	return 0;
}

/* The session of the open file; 0 and errno. */
static uint64_t session_of(struct file *f, const char *what)
{
	if (atomic_load(&f->shared->session) && is_over(f)) {
		end_session(f);
		say_lost(f);
		errno = ENOLCK;
		return 0;
	}
	if (!atomic_load(&f->shared->session) && f->inherited) {
		skin_refuse(what, true); /* whoever else has the open file would not hold it */
		return 0;
	}
	if (!atomic_load(&f->shared->session) && new_session(f))
		return 0;
	return atomic_load(&f->shared->session);
}

/* ---- fcntl ---- */

/* What libc's lock is relative to, only we know; a negative length lies before the start. */
static int from_start(struct file *f, const struct flock *wanted, struct fathom_fwd_lock *lock)
{
	struct fathom_fwd_attr attr;
	off_t start = wanted->l_start, length = wanted->l_len;

	if (wanted->l_whence == SEEK_CUR)
		start += f->shared->position;
	if (wanted->l_whence == SEEK_END && attributes(f, &attr))
		return -1;
	if (wanted->l_whence == SEEK_END)
		start += (off_t)attr.size;
	if (length < 0) {
		start += length;
		length = -length;
	}
	if (start < 0 || wanted->l_whence < SEEK_SET || wanted->l_whence > SEEK_END ||
	    wanted->l_type < F_RDLCK || wanted->l_type > F_UNLCK) {
		errno = EINVAL;
		return -1;
	}
	lock->start = (uint64_t)start;
	lock->length = (uint64_t)length;
	lock->mode = flock_mode(wanted->l_type);
	return 0;
}

static bool may_lock(const struct file *f, short type)
{
	int access = f->shared->flags & O_ACCMODE;

	return type == F_UNLCK || access == O_RDWR ||
	       access == (type == F_WRLCK ? O_WRONLY : O_RDONLY);
}

static int find_lock(struct file *f, struct fathom_fwd_lock *lock, struct flock *wanted)
{
	struct asking a;
	int error = file_asking(&a, f);

	if (!error)
		error = fathom_fwd_locked(a.client, &f->shared->handle, lock, &a.hints);
	if (asking_end(&a, error))
		return -1;
	flock_from_lock(wanted, lock);
	return 0;
}

/* F_SETLK and its kin: of the process, or of the open file (OFD). */
int lock_range(struct file *f, int cmd, struct flock *wanted)
{
	bool of_file = cmd == F_OFD_SETLK || cmd == F_OFD_SETLKW || cmd == F_OFD_GETLK;
	bool get = cmd == F_GETLK || cmd == F_OFD_GETLK;
	struct fathom_fwd_lock lock = {.pid = of_file ? (uint32_t)-1 : (uint32_t)getpid(),
				       .flags = of_file ? 0 : FATHOM_FWD_LOCK_PROCESS};

	if ((of_file && wanted->l_pid) || (get && wanted->l_type == F_UNLCK)) {
		errno = EINVAL;
		return -1;
	}
	if (!get && !may_lock(f, wanted->l_type)) {
		errno = EBADF;
		return -1;
	}
	if (from_start(f, wanted, &lock))
		return -1;
	if (of_file && !(lock.session = session_of(f, "a lock (fcntl)")))
		return -1;
	if (get)
		return find_lock(f, &lock, wanted);
	if (cmd == F_SETLKW || cmd == F_OFD_SETLKW)
		lock.flags |= FATHOM_FWD_LOCK_WAIT;
	if (of_file)
		return change_held(f, &lock, HELD_RANGES);
	atomic_store(&locks_were_made, true);
	return change(f, &lock);
}

/* By the rules of POSIX the process's locks end when it closes any of the file's descriptors. */
void lock_closed(struct file *f)
{
	struct fathom_fwd_lock all = {.owner = 0};
	struct asking a;
	int error;

	if (!atomic_load(&locks_were_made))
		return;
	error = asking_begin(&a, f->shared->path);
	if (!error && fathom_fwd_has_locks(a.client, &f->shared->handle, &all))
		error = fathom_fwd_unlock(a.client, &f->shared->handle, &all, &a.hints);
	asking_end(&a, error);
	errno = a.before;
}

int forward_flock(struct file *f, int operation)
{
	struct fathom_fwd_lock lock = {.flags = FATHOM_FWD_LOCK_WHOLE, .pid = (uint32_t)-1};

	switch (operation & ~LOCK_NB) {
	case LOCK_SH:
		lock.mode = FATHOM_FWD_LOCK_SHARED;
		break;
	case LOCK_EX:
		lock.mode = FATHOM_FWD_LOCK_EXCLUSIVE;
		break;
	case LOCK_UN:
		break;
	default:
		errno = EINVAL;
		return -1;
	}
	if (!(operation & LOCK_NB))
		lock.flags |= FATHOM_FWD_LOCK_WAIT;
	lock.session = session_of(f, "a lock (flock)");
	return lock.session ? change_held(f, &lock, HELD_WHOLE) : -1;
}
int forward_lockf(struct file *f, int operation, off_t length)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_CUR, .l_len = length};

	switch (operation) {
	case F_ULOCK:
		lock.l_type = F_UNLCK;
		return lock_range(f, F_SETLK, &lock);
	case F_LOCK:
		return lock_range(f, F_SETLKW, &lock);
	case F_TLOCK:
		return lock_range(f, F_SETLK, &lock);
	case F_TEST:
		if (lock_range(f, F_GETLK, &lock))
			return -1;
		if (lock.l_type == F_UNLCK)
			return 0;
		errno = EACCES;
		return -1;
	default:
		errno = EINVAL;
		return -1;
	}
}
