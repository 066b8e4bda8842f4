/* Opening, closing, and descriptors that become others. */
#include <linux/fs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "old_libc.h"
#include "skin.h"

static uint32_t open_flags(int flags)
{
	static const int ours[][2] = {
		{O_CREAT, FATHOM_FWD_CREATE},        {O_EXCL, FATHOM_FWD_EXCLUSIVE},
		{O_TRUNC, FATHOM_FWD_TRUNCATE},      {O_NOFOLLOW, FATHOM_FWD_NOFOLLOW},
		{O_DIRECTORY, FATHOM_FWD_DIRECTORY}, {O_NOATIME, FATHOM_FWD_NOATIME}};
	int access = flags & O_ACCMODE;
	uint32_t wanted = access != O_WRONLY ? FATHOM_FWD_READ : 0;

	wanted |= access != O_RDONLY ? FATHOM_FWD_WRITE : 0;
	for (size_t i = 0; i < sizeof(ours) / sizeof(*ours); i++)
		if (flags & ours[i][0])
			wanted |= (uint32_t)ours[i][1];
	if ((flags & O_TMPFILE) == O_TMPFILE)
		return (wanted & ~(uint32_t)FATHOM_FWD_DIRECTORY) | FATHOM_FWD_TMPFILE;
	return flags & O_CREAT ? wanted : wanted & ~(uint32_t)FATHOM_FWD_EXCLUSIVE;
}

/* Looked up by another rank, and made or emptied by none of these. */
static bool is_known(const struct known *known, int flags)
{
	return known && !(flags & (O_TRUNC | O_DIRECTORY)) &&
	       (known->writable || (flags & O_ACCMODE) == O_RDONLY);
}

/* A descriptor of a file that the client has opened. */
static int new_descriptor(const char *path, int flags, const struct fathom_fwd_handle *handle,
			  const struct fathom_fwd_attr *attr)
{
	int fd = file_new(handle, path, flags, attr, false), error = errno;
	struct asking a;

	if (fd >= 0)
		return fd;
	if (!asking_begin(&a, path))
		fathom_fwd_release(a.client, handle, &a.hints);
	asking_end(&a, 0);
	errno = error;
	return -1;
}

/* The file of a descriptor, opened once more. */
static int open_again(const struct place *at, int flags)
{
	uint32_t wanted = open_flags(flags);
	struct fathom_fwd_attr attr;
	struct asking a;
	int error = asking_begin(&a, at->text);

	asking_about(&a, &at->handle, at->text);
	if (flags & O_CREAT && flags & O_EXCL)
		error = EEXIST;
	else if (flags & O_NOFOLLOW)
		error = ELOOP;
	wanted &= ~(uint32_t)FATHOM_FWD_CREATE;
	if (!error)
		error = fathom_fwd_open(a.client, &at->handle, "", wanted, 0, NULL, &attr,
					&a.hints);
	return asking_end(&a, error) ? -1 : new_descriptor(at->text, flags, &at->handle, &attr);
}

int forward_open(const struct place *at, int flags, mode_t mode)
{
	const struct known *known = opened_by_all(at);
	struct fathom_fwd_handle handle;
	struct fathom_fwd_attr attr;
	struct asking a;
	int error;

	if (at->by_number)
		return open_again(at, flags);
	if (at->by_handle) {
		errno = ENOENT;
		return -1;
	}
	if (is_known(known, flags))
		return file_new(&known->handle, at->path, flags, &known->attr, true);
	error = asking_begin(&a, at->text);
	asking_mixed(&a);
	if (flags & O_CREAT)
		asking_makes(&a, &settings()->striping);
	if (error)
		return asking_end(&a, error);
	a.follows = !(flags & O_NOFOLLOW) && !(flags & O_CREAT && flags & O_EXCL);
	do
		error = fathom_fwd_open(a.client, asking_from(&a, at), asking_below(&a, at),
					open_flags(flags), mode & ~mask_now() & 07777, &handle,
					&attr, &a.hints);
	while (asking_again(&a, at, NULL, &error));
	return asking_end(&a, error) ? -1
				     : new_descriptor(asking_path(&a, at), flags, &handle, &attr);
}

int forward_creat(const struct place *at, mode_t mode)
{
	return forward_open(at, O_CREAT | O_WRONLY | O_TRUNC, mode);
}

/* ---- names that are made up ---- */

enum { ATTEMPTS = 100, MARKS = 6 };

/* The six X before the suffix, in the program's text and in ours. */
static bool fill_marks(const struct place *at, struct place *tried, int suffix)
{
	static const char letters[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
	size_t length = strlen(at->given), behind = (size_t)suffix + MARKS;
	unsigned char random[MARKS];
	char *place = at->given + length - behind;

	if (suffix < 0 || length < behind || at->slash || !random_bytes(random, sizeof(random)))
		return false;
	for (int i = 0; i < MARKS; i++)
		place[i] = letters[random[i] % (sizeof(letters) - 1)];
	*tried = *at;
	tried->path = tried->text + (at->path - at->text);
	memcpy(tried->text + strlen(at->text) - behind, place, MARKS);
	return true;
}

static bool has_marks(const struct place *at, int suffix)
{
	size_t length = strlen(at->given), behind = (size_t)suffix + MARKS;

	return suffix >= 0 && length >= behind &&
	       !memcmp(at->given + length - behind, "XXXXXX", MARKS);
}

int forward_mkostemps(const struct place *at, int suffix, int flags)
{
	struct place tried;
	int fd = -1;

	if (!has_marks(at, suffix)) {
		errno = EINVAL;
		return -1;
	}
	for (int i = 0; i < ATTEMPTS && fill_marks(at, &tried, suffix); i++) {
		fd = forward_open(&tried, (flags & ~O_ACCMODE) | O_RDWR | O_CREAT | O_EXCL, 0600);
		if (fd >= 0 || errno != EEXIST)
			break;
	}
	return fd;
}

int forward_mkstemp(const struct place *at)
{
	return forward_mkostemps(at, 0, 0);
}

int forward_mkostemp(const struct place *at, int flags)
{
	return forward_mkostemps(at, 0, flags);
}

int forward_mkstemps(const struct place *at, int suffix)
{
	return forward_mkostemps(at, suffix, 0);
}

char *forward_mkdtemp(const struct place *at)
{
	struct place tried;

	if (!has_marks(at, 0)) {
		errno = EINVAL;
		return NULL;
	}
	for (int i = 0; i < ATTEMPTS && fill_marks(at, &tried, 0); i++) {
		if (!forward_mkdir(&tried, 0700))
			return at->given;
		if (errno != EEXIST)
			break;
	}
	return NULL;
}

/* ---- closing ---- */

/* Writes that have returned and may yet fail are waited for, as close is the last to tell. */
static int settle(int fd)
{
	struct file *f = file_get(fd);
	int settled = f ? data_settle(f) : 0, error = errno;

	if (f)
		file_put(f);
	errno = error;
	return settled;
}

int forward_close(int fd)
{
	int settled, closed, error;

	if (is_private(fd)) {
		errno = EBADF;
		return -1;
	}
	if (after_vfork())
		return next_close(fd);
	settled = settle(fd);
	error = errno;
	file_closed(fd);
	closed = next_close(fd);
	if (!settled)
		return closed;
	errno = error;
	return -1;
}

/* The client's own descriptors lie high and stay. */
static int close_but_private(unsigned int first, unsigned int last, int flags)
{
	for (unsigned int fd = first; fd <= last && fd < MOST_PRIVATE; fd++) {
		if (!is_private((int)fd))
			continue;
		if (fd > first && next_close_range(first, fd - 1, flags))
			return -1;
		first = fd + 1;
	}
	return first <= last ? next_close_range(first, last, flags) : 0;
}

int forward_close_range(unsigned int first, unsigned int last, int flags)
{
	if (!settings() || flags)
		return next_close_range(first, last, flags);
	if (!after_vfork())
		files_forget(first, last);
	return close_but_private(first, last, flags);
}

void forward_closefrom(int first)
{
	forward_close_range(first < 0 ? 0 : (unsigned int)first, ~0u, 0);
}

/* ---- the same open file under another number ---- */

static int register_duplicate(int fd, int duplicate)
{
	if (duplicate >= 0 && duplicate != fd && !after_vfork()) {
		file_set(duplicate, file_get(fd));
		streams_follow(duplicate);
	}
	return duplicate;
}

int forward_dup(int fd)
{
	return is_private(fd) ? (errno = EBADF, -1) : register_duplicate(fd, next_dup(fd));
}

int forward_dup3(int fd, int wanted, int flags)
{
	if (is_private(fd) || is_private(wanted)) {
		errno = EBADF;
		return -1;
	}
	return register_duplicate(fd, next_dup3(fd, wanted, flags));
}

int forward_dup2(int fd, int wanted)
{
	return fd == wanted ? next_dup2(fd, wanted) : forward_dup3(fd, wanted, 0);
}

/* ---- fcntl, ioctl ---- */

static int set_flags(struct file *f, int flags)
{
	const int settable = O_APPEND | O_NONBLOCK | O_ASYNC | O_DIRECT | O_NOATIME;

	if (f->shared->flags & O_PATH) {
		errno = EBADF;
		return -1;
	}
	f->shared->flags = (f->shared->flags & ~settable) | (flags & settable);
	return 0;
}

static int control(struct file *f, int cmd, uintptr_t argument)
{
	switch (cmd) {
	case F_GETFL:
		return f->shared->flags;
	case F_SETFL:
		return set_flags(f, (int)argument);
	case F_GETLK:
	case F_SETLK:
	case F_SETLKW:
	case F_OFD_GETLK:
	case F_OFD_SETLK:
	case F_OFD_SETLKW:
		return lock_range(f, cmd, (struct flock *)argument);
	default:
		errno = EINVAL;
		return -1;
	}
}

int forward_fcntl(int fd, int cmd, uintptr_t argument)
{
	struct file *f;
	int result;

	if (cmd == F_DUPFD || cmd == F_DUPFD_CLOEXEC)
		return register_duplicate(fd, next_fcntl(fd, cmd, argument));
	if (cmd == F_GETFD || cmd == F_SETFD)
		return next_fcntl(fd, cmd, argument);
	f = file_get(fd);
	if (!f) {
		errno = EBADF;
		return -1;
	}
	result = control(f, cmd, argument);
	file_put(f);
	return result;
}

/* Of a file: what is left to read, and, by its errno, that no blocks are shared with another. */
int forward_ioctl(struct file *f, unsigned long request, uintptr_t argument)
{
	struct fathom_fwd_attr attr;

	if (request == FIONREAD && S_ISREG(f->shared->mode)) {
		if (attributes(f, &attr))
			return -1;
		*(int *)argument = (int)((int64_t)attr.size - f->shared->position);
		return 0;
	}
	errno = request == FICLONE || request == FICLONERANGE ? EOPNOTSUPP : ENOTTY;
	return -1;
}
