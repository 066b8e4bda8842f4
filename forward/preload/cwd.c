/* The working directory, where that is forwarded. The kernel then stands in a directory that is no more, so what misses
 * us finds nothing; a descriptor of the forwarded one tells programs that are started where they are. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "names.h"

static _Atomic int cwd_fd; /* that descriptor; 0: the kernel's directory counts */

bool cwd_is_ours(void)
{
	return atomic_load_explicit(&cwd_fd, memory_order_relaxed) != 0;
}

int cwd_descriptor(void)
{
	return atomic_load_explicit(&cwd_fd, memory_order_relaxed);
}

void cwd_inherited(int fd)
{
	atomic_store(&cwd_fd, fd);
}

/* Back to the kernel's. Between vfork and exec our memory is the parent's, the descriptors are not. */
static void leave(void)
{
	int fd = after_vfork() ? atomic_load(&cwd_fd) : atomic_exchange(&cwd_fd, 0);

	if (fd && !after_vfork())
		file_set(fd, NULL);
	if (fd)
		next_close(fd);
}

/* In a directory of nobody else, which is gone at once. */
static bool stand_nowhere(void)
{
	char path[] = "/dev/shm/fathom-cwd.XXXXXX";

	return next_mkdtemp(path) && !next_chdir(path) && !next_rmdir(path);
}

/* Takes over the descriptor of a forwarded directory. */
static int enter(int fd)
{
	int duplicate = next_fcntl(fd, F_DUPFD, lowest_private());
	struct file *f = file_get(fd);

	if (duplicate < 0 || !f || !stand_nowhere()) {
		int error = errno;

		if (duplicate >= 0)
			next_close(duplicate);
		if (f)
			file_put(f);
		forward_close(fd);
		errno = error;
		return -1;
	}
	f->shared->cwd = 1;
	file_set(duplicate, f);
	forward_close(fd);
	leave();
	atomic_store(&cwd_fd, duplicate);
	return 0;
}

int forward_chdir(const char *path)
{
	struct place at, real;
	struct asking a;
	int fd, done, error;

	if (!place_find(&at, AT_FDCWD, path)) {
		done = next_chdir(path);
		if (!done)
			leave();
		return done;
	}
	/* it is asked for by getcwd, and begins what .. leads on from, whatever becomes of links */
	real = at;
	real.path = real.text;
	error = asking_begin(&a, at.text);
	if (!error)
		error = name_without_links(&a, &at, real.text);
	if (asking_end(&a, error))
		return -1;
	fd = forward_open(&real, O_RDONLY | O_DIRECTORY, 0);
	return fd < 0 ? -1 : enter(fd);
}

int forward_fchdir(int fd)
{
	struct place at;
	char path[32];
	int done;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (!place_find(&at, AT_FDCWD, path)) {
		done = next_fchdir(fd);
		if (!done)
			leave();
		return done;
	}
	fd = forward_open(&at, O_RDONLY | O_DIRECTORY, 0);
	return fd < 0 ? -1 : enter(fd);
}

/* The name that it was opened by is still its name; else nobody here knows one: 0 or an errno. */
static int has_its_name(int fd)
{
	struct file *f = file_get(fd);
	struct fathom_fwd_handle there;
	struct asking a;
	int error;

	if (!f)
		return ENOENT;
	error = asking_begin(&a, f->shared->path);
	if (!error && *f->shared->path)
		error = fathom_fwd_lookup(a.client, NULL, f->shared->path, FATHOM_FWD_NOFOLLOW,
					  &there, NULL, &a.hints);
	if (!error && *f->shared->path && memcmp(&there, &f->shared->handle, sizeof(there)))
		error = ENOENT;
	error = asking_end(&a, error) ? errno : 0;
	file_put(f);
	return error;
}

/* Without room of the program's own it is made; the old getwd gives no size. */
char *forward_getcwd(char *buf, size_t room)
{
	int fd = cwd_descriptor(), before = errno, error = has_its_name(fd);
	char path[PATH_MAX];

	errno = error ? error : before;
	if (error || !file_path(fd, path))
		return NULL;
	if (!buf && !room)
		return strdup(path);
	if (room && strlen(path) >= room) {
		errno = ERANGE;
		return NULL;
	}
	buf = buf ? buf : malloc(room);
	return buf ? strcpy(buf, path) : NULL;
}

char *forward_get_current_dir_name(void)
{
	return forward_getcwd(NULL, 0);
}
