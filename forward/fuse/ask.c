/* How the client is called: within bounded time, with the paths of its files for a server that was started anew, with a line for people. */
#include <stdio.h>
#include <time.h>

#include "mount.h"

enum {
	SILENT = 1000, /* ms that a server which did not answer in time has the next time */
	PAUSE = 5,     /* s between lines about trouble */
};

void ask_begin(struct ask *a, fuse_ino_t number)
{
	uint32_t timeout = mount_point.timeout;

	a->node = node_of(number);
	node_path(a->node, a->path);
	a->at[0] = (struct fathom_fwd_path){node_handle(a->node), a->path};
	if (atomic_load(&mount_point.silent) && (!timeout || timeout > SILENT))
		timeout = SILENT;
	a->hints = (struct fathom_fwd_hints){.timeout = timeout,
					     .level = mount_point.level,
					     .file = a->path,
					     .path = a->at,
					     .paths = 1};
}

void ask_also(struct ask *a, fuse_ino_t other)
{
	node_path(node_of(other), a->other);
	a->at[1] = (struct fathom_fwd_path){node_handle(node_of(other)), a->other};
	a->hints.paths = 2;
}

void ask_mixed(struct ask *a)
{
	static const struct fathom_fwd_hint mixed = {.key = FATHOM_FWD_APPEND_SHARED};

	a->hints.hint = &mixed;
	a->hints.count = 1;
}

/* Errors that a program's own message does not explain. */
static bool is_trouble(int error)
{
	static const int troubles[] = {ETIMEDOUT, ECONNREFUSED, ECONNRESET, ESHUTDOWN, EPROTO,
				       EIO,       EXDEV,        EBUSY,      ENOSPC,    EDQUOT};

	for (size_t i = 0; i < sizeof(troubles) / sizeof(*troubles); i++)
		if (error == troubles[i])
			return true;
	return false;
}

int ask_end(struct ask *a, int error)
{
	struct timespec now;
	int64_t last = atomic_load(&mount_point.last_complaint);

	atomic_store(&mount_point.silent, error == ETIMEDOUT);
	if (!error || error != a->hints.error.code || !is_trouble(error))
		return error;
	clock_gettime(CLOCK_MONOTONIC, &now);
	if (now.tv_sec >= last + PAUSE &&
	    atomic_compare_exchange_strong(&mount_point.last_complaint, &last, now.tv_sec))
		fprintf(stderr, "fathom forward: %s\n", a->hints.error.what);
	return error;
}
