/* How the client is called: within bounded time, once more when the server had forgotten a file, with a line for people. */
#include <stdio.h>
#include <string.h>
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
	a->again = false;
	node_path(a->node, a->path);
	if (atomic_load(&mount_point.silent) && (!timeout || timeout > SILENT))
		timeout = SILENT;
	a->hints = (struct fathom_fwd_hints){
		.timeout = timeout, .level = mount_point.level, .file = a->path};
}

void ask_mixed(struct ask *a)
{
	static const struct fathom_fwd_hint mixed = {.key = FATHOM_FWD_APPEND_SHARED};

	a->hints.hint = &mixed;
	a->hints.count = 1;
}

/* By its name, if that still is this file: then the server knows its handle. */
static bool find(struct ask *a, const char *path, const struct fathom_fwd_handle *handle)
{
	struct fathom_fwd_handle current;

	return !fathom_fwd_lookup(mount_point.client, NULL, path, FATHOM_FWD_NOFOLLOW, &current,
				  NULL, &a->hints) &&
	       !memcmp(&current, handle, sizeof(current));
}

bool ask_again(struct ask *a, int error, fuse_ino_t other)
{
	char path[PATH_MAX];

	if (error != ESTALE || a->again)
		return false;
	a->again = true;
	if (!find(a, a->path, node_handle(a->node)))
		return false;
	if (!other)
		return true;
	node_path(node_of(other), path);
	return find(a, path, node_handle(node_of(other)));
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
