/* Locks are not the server's yet; one that only this mount knew of would be no lock. */
#include <stdio.h>

#include "mount.h"

static void refuse(fuse_req_t req, fuse_ino_t ino)
{
	static _Atomic bool said;
	struct ask a;

	if (!atomic_exchange(&said, true)) {
		ask_begin(&a, ino);
		fprintf(stderr, "fathom forward: a lock of %s is not done: ENOTSUP\n", a.path);
	}
	fuse_reply_err(req, EOPNOTSUPP);
}

void do_getlk(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi, struct flock *lock)
{
	(void)fi, (void)lock;
	refuse(req, ino);
}

void do_setlk(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi, struct flock *lock,
	      int wait)
{
	(void)fi, (void)wait;
	if (lock->l_type == F_UNLCK)
		fuse_reply_err(req, 0); /* there is none */
	else
		refuse(req, ino);
}

void do_flock(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi, int operation)
{
	(void)fi, (void)operation;
	refuse(req, ino);
}
