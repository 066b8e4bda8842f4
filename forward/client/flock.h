/* Locks of ranges, between fcntl's words and the protocol's. */
#ifndef FATHOM_FORWARD_FLOCK_H
#define FATHOM_FORWARD_FLOCK_H

#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <unistd.h>

#include "fathom_fwd.h"

static inline uint8_t flock_mode(short type)
{
	return type == F_UNLCK   ? FATHOM_FWD_LOCK_NONE
	       : type == F_RDLCK ? FATHOM_FWD_LOCK_SHARED
				 : FATHOM_FWD_LOCK_EXCLUSIVE;
}

/* What F_GETLK says of the lock that was found; where there is none, only the type changes. */
static inline void flock_from_lock(struct flock *range, const struct fathom_fwd_lock *lock)
{
	if (lock->mode == FATHOM_FWD_LOCK_NONE)
		range->l_type = F_UNLCK;
	else
		*range = (struct flock){.l_type = lock->mode == FATHOM_FWD_LOCK_SHARED ? F_RDLCK
										       : F_WRLCK,
					.l_whence = SEEK_SET,
					.l_start = (off_t)lock->start,
					.l_len = (off_t)lock->length,
					.l_pid = (pid_t)lock->pid};
}

/* The bytes outside which an owner has locked none: what lies between two of its ranges counts as locked. */
struct span {
	uint64_t first, last;
};

static inline struct span span_of(const struct fathom_fwd_lock *lock)
{
	return (struct span){lock->start,
			     lock->length ? lock->start + lock->length - 1 : UINT64_MAX};
}

static inline void span_widen(struct span *s, const struct fathom_fwd_lock *lock)
{
	struct span more = span_of(lock);

	s->first = more.first < s->first ? more.first : s->first;
	s->last = more.last > s->last ? more.last : s->last;
}

/* It is unlocked; whether nothing is left. */
static inline bool span_narrow(struct span *s, const struct fathom_fwd_lock *lock)
{
	struct span less = span_of(lock);

	if (less.first <= s->first && less.last >= s->last)
		return true;
	if (less.first <= s->first && less.last >= s->first)
		s->first = less.last + 1;
	else if (less.first <= s->last && less.last >= s->last)
		s->last = less.first - 1;
	return false;
}

#endif
