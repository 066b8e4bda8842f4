/* The working directory, where that is forwarded. The kernel then stands in a directory that is no more, so what misses
 * us finds nothing; a descriptor of the forwarded one tells programs that are started where they are. */
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

enum { OWN_NAME = 160 };

/* A directory in memory that is this user's alone: its path in `path` of OWN_NAME. */
static bool own_directory(char *path)
{
	struct stat about;

	snprintf(path, OWN_NAME, "/dev/shm/fathom-forward-%u", (unsigned)geteuid());
	if (next_mkdir(path, 0700) && errno != EEXIST)
		return false;
	return !next_lstat(path, &about) && S_ISDIR(about.st_mode) && about.st_uid == geteuid() &&
	       !(about.st_mode & 077);
}

static bool stand_nowhere(void)
{
	char path[OWN_NAME];

	if (!own_directory(path))
		return false;
	strcat(path, "/cwd.XXXXXX");
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
		error = name_without_links(&a, at.path, real.text);
	if (asking_end(&a, error))
		return -1;
	fd = forward_open(&real, O_RDONLY | O_DIRECTORY, 0);
	return fd < 0 ? -1 : enter(fd);
}

int forward_fchdir(int fd)
{
	char path[PATH_MAX];
	int done;

	if (!file_path(fd, path)) {
		done = next_fchdir(fd);
		if (!done)
			leave();
		return done;
	}
	return forward_chdir(path);
}

/* Without room of the program's own it is made; the old getwd gives no size. */
char *forward_getcwd(char *buf, size_t room)
{
	char path[PATH_MAX];

	if (!file_path(atomic_load(&cwd_fd), path)) {
		errno = ENOENT;
		return NULL;
	}
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
