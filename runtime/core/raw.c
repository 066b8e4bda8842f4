/* The gate before our own system calls. */
#include "core/raw.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>

enum { LONGEST_WAIT = 1000000 }; /* yields: a thread that died inside never leaves */

static struct raw_users first; /* until the process has its state */
static struct raw_users *users = &first;
static _Atomic bool closed;

/* Its address is the thread's own. */
static __thread char own __attribute__((tls_model("initial-exec")));

void *raw_thread(void)
{
	return &own;
}

bool raw_closed(void)
{
	return atomic_load(&closed);
}

bool raw_enter(void)
{
	atomic_fetch_add(&users->inside, 1);
	if (!atomic_load(&closed))
		return true;
	raw_leave();
	return false;
}

void raw_leave(void)
{
	atomic_fetch_sub(&users->inside, 1);
}

void raw_allow(void)
{
	atomic_store(&users->allowed, raw_thread());
}

void raw_deny(void)
{
	atomic_store(&users->allowed, NULL);
}

long raw6(long n, long a, long b, long c, long d, long e, long f)
{
	long result = -EPERM;

	if (raw_enter()) {
		result = raw_now(n, a, b, c, d, e, f);
		raw_leave();
	} else if (atomic_load(&users->allowed) == raw_thread()) {
		result = raw_now(n, a, b, c, d, e, f);
	}
	return result;
}

void raw_users_in(struct raw_users *memory)
{
	users = memory;
}

void raw_close(void)
{
	atomic_store(&closed, true);
	for (int tries = 0; tries < LONGEST_WAIT && atomic_load(&users->inside); tries++)
		raw_now(SYS_sched_yield, 0, 0, 0, 0, 0, 0);
}

void raw_open(void)
{
	atomic_store(&closed, false);
}

long raw_read_file(const char *path, void *out, size_t size)
{
	const long fd = raw3(SYS_openat, AT_FDCWD, (long)path, O_RDONLY | O_CLOEXEC);
	long got;

	if (fd < 0)
		return fd;
	got = raw3(SYS_read, fd, (long)out, (long)size);
	raw3(SYS_close, fd, 0, 0);
	return got;
}
