/* Locks of ranges, between fcntl's words and the protocol's. */
#ifndef FATHOM_FORWARD_FLOCK_H
#define FATHOM_FORWARD_FLOCK_H

#include <fcntl.h>
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

#endif
