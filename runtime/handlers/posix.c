/* Descriptors: what opens, closes, moves and duplicates of them mean for the runtime's tables. These run also
 * for calls that are not recorded (c->thread is NULL then): the tables must be right when recording goes on. */
#include "handlers/posix.h"
#include "ops.h"

void posix_opened(struct call *c, int fd, int dirfd, const char *path, int flags)
{
	if (fd < 0)
		return;
	if (c->thread)
		c->object = descriptor_open(c, fd, dirfd, path, flags);
	else
		descriptor_close(
			fd); /* unknown from here on: its first recorded use asks what it is */
}

void posix_piped(struct call *c, int result, const int *ends, int flags)
{
	if (result != 0)
		return;
	posix_opened(c, ends[1], AT_FDCWD, NULL, O_WRONLY | flags);
	posix_opened(c, ends[0], AT_FDCWD, NULL, O_RDONLY | flags);
}

void posix_close_range(unsigned first, unsigned last, int flags)
{
	enum { ONLY_CLOEXEC = 4 }; /* CLOSE_RANGE_CLOEXEC of linux/close_range.h */

	if (!(flags & ONLY_CLOEXEC))
		descriptor_close_range(first, last);
}

void posix_duped(int fd, int duplicate, bool cloexec)
{
	if (duplicate >= 0)
		descriptor_dup(fd, duplicate, cloexec);
}

void posix_controlled(int fd, int cmd, uintptr_t argument, int result)
{
	if (result < 0)
		return;
	switch (cmd) {
	case F_DUPFD:
	case F_DUPFD_CLOEXEC:
		descriptor_dup(fd, result, cmd == F_DUPFD_CLOEXEC);
		break;
	case F_SETFD:
		descriptor_cloexec(fd, argument & FD_CLOEXEC);
		break;
	case F_SETFL:
		descriptor_flags(fd, (int)argument);
		break;
	}
}

/* ---- fcntl's argument: a number, a lock, or something else's address ---- */

static const struct flock *lock_of(int cmd, uintptr_t argument)
{
	switch (cmd) {
	case F_GETLK:
	case F_SETLK:
	case F_SETLKW:
	case F_OFD_GETLK:
	case F_OFD_SETLK:
	case F_OFD_SETLKW:
		return posix_readable((void *)argument) ? (const struct flock *)argument : NULL;
	}
	return NULL;
}

int64_t posix_fcntl_number(int cmd, uintptr_t argument)
{
	switch (cmd) {
	case F_DUPFD:
	case F_DUPFD_CLOEXEC:
	case F_SETFD:
	case F_SETFL:
	case F_SETOWN:
	case F_SETSIG:
	case F_SETLEASE:
	case F_NOTIFY:
	case F_SETPIPE_SZ:
	case F_ADD_SEALS:
		return (int64_t)argument;
	}
	return 0;
}

int64_t posix_lock_type(int cmd, uintptr_t argument)
{
	const struct flock *lock = lock_of(cmd, argument);

	return lock ? lock->l_type : 0;
}

int64_t posix_lock_whence(int cmd, uintptr_t argument)
{
	const struct flock *lock = lock_of(cmd, argument);

	return lock ? lock->l_whence : 0;
}

int64_t posix_lock_start(int cmd, uintptr_t argument)
{
	const struct flock *lock = lock_of(cmd, argument);

	return lock ? lock->l_start : 0;
}

int64_t posix_lock_length(int cmd, uintptr_t argument)
{
	const struct flock *lock = lock_of(cmd, argument);

	return lock ? lock->l_len : 0;
}

/* ---- positions that calls other than read and write move ---- */

void posix_sought(int fd, off_t position)
{
	if (position >= 0)
		descriptor_seek(fd, position);
}

void posix_moved(int fd, bool at_position, ssize_t done)
{
	if (at_position && done > 0)
		descriptor_advance(fd, descriptor_position(fd), done);
}

/* The descriptor that the row of a copy is not on gets a row of its own. The frame must be a younger one than the
 * wrapper's: never inlined. */
static __attribute__((noinline)) void other_side(const struct call *copy, uint32_t op, int fd,
						 int64_t offset, ssize_t done, uint64_t ended)
{
	struct call c;

	if (!copy->thread || done <= 0 ||
	    !call_enter(&c, op, descriptor_object(fd), done, offset, __builtin_frame_address(0),
			__builtin_return_address(0)))
		return;
	c.began = ended;
	c.field[0] = offset;
	c.field[1] = done;
	call_leave(&c, ended);
}

/* Copies ask for more than there is, as SSIZE_MAX: their size is what moved. */
static void moved_size(struct call *c, ssize_t done)
{
	if (done >= 0 && done < c->field[0])
		c->field[0] = done;
}

void posix_sent(struct call *c, int out_fd, int in_fd, bool at_position, ssize_t done,
		uint64_t ended)
{
	moved_size(c, done);
	other_side(c, OP_POSIX_COPY_TARGET, out_fd, posix_offset_at(out_fd, NULL), done, ended);
	posix_moved(in_fd, at_position, done);
	posix_moved(out_fd, true, done);
}

void posix_copied(struct call *c, int in_fd, const off_t *in_offset, int out_fd,
		  bool out_at_position, ssize_t done, uint64_t ended)
{
	const int64_t from = in_offset ? *in_offset - done : posix_offset_at(in_fd, NULL);

	moved_size(c, done);
	other_side(c, OP_POSIX_COPY_SOURCE, in_fd, from, done, ended);
	posix_moved(in_fd, !in_offset, done);
	posix_moved(out_fd, out_at_position, done);
}

int posix_linked_descriptor(const char *path)
{
	static const char folder[] = "/proc/self/fd/";
	int fd = 0;

	if (!posix_readable(path) || strncmp(path, folder, sizeof(folder) - 1) != 0)
		return -1;
	path += sizeof(folder) - 1;
	for (; *path >= '0' && *path <= '9' && fd < 1 << 20; path++)
		fd = fd * 10 + *path - '0';
	return *path ? -1 : fd;
}

/* ---- closes inside libc ---- */

void posix_detached(int result)
{
	if (result == 0)
		descriptor_close_range(0, 2);
}
