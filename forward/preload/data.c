/* Bytes: reads and writes, positions, sizes, copies to other descriptors, private mappings. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/param.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "engine.h"
#include "skin.h"

enum {
	MOST = 0x7ffff000, /* of one call, as Linux has it */
	PIECES = 1024,     /* IOV_MAX */
	COPIED = 1 << 20,  /* at a time, from descriptor to descriptor */
};

static int fail(int error)
{
	errno = error;
	return -1;
}

/* ---- one transfer ---- */

struct transfer {
	struct file *f;
	struct iovec piece[PIECES];
	uint32_t n;
	uint64_t bytes;
	bool writing, append;
};

static int may_transfer(const struct file *f, bool writing)
{
	int access = f->shared->flags & O_ACCMODE;

	if (f->shared->flags & O_PATH || access == (writing ? O_RDONLY : O_WRONLY))
		return EBADF;
	return S_ISDIR(f->shared->mode) ? EISDIR : 0;
}

/* The vector, cut to what one call does; 0 or an errno. */
static int take_vector(struct transfer *t, const struct iovec *vector, int count, uint64_t most)
{
	if (count < 0 || count > PIECES)
		return EINVAL;
	for (int i = 0; i < count && t->bytes < most; i++) {
		size_t length = vector[i].iov_len;

		if (length > SSIZE_MAX)
			return EINVAL;
		if (length && !vector[i].iov_base)
			return EFAULT;
		length = length < most - t->bytes ? length : most - t->bytes;
		t->piece[t->n++] = (struct iovec){vector[i].iov_base, length};
		t->bytes += length;
	}
	return 0;
}

static int move_once(struct asking *a, struct transfer *t, uint64_t *offset, uint64_t *done)
{
	const struct fathom_fwd_handle *handle = &t->f->shared->handle;
	struct fathom_fwd_extent extent = {*offset, t->bytes};
	int error;

	if (!t->writing)
		return fathom_fwd_read(a->client, handle, t->piece, t->n, &extent, 1, done,
				       &a->hints);
	asking_mixed(a);
	a->hints.level = settings()->level;
	if (t->f->shared->flags & (O_SYNC | O_DSYNC))
		a->hints.level = FATHOM_FWD_SYNCED;
	if (!t->append)
		return fathom_fwd_write(a->client, handle, t->piece, t->n, &extent, 1, done,
					&a->hints);
	error = fathom_fwd_append(a->client, handle, t->piece, t->n, offset, &a->hints);
	*done = error ? 0 : t->bytes;
	return error;
}

static int move(struct asking *a, struct transfer *t, uint64_t offset, uint64_t *done,
		bool at_position)
{
	int error = file_hold(a, t->f);

	if (!error)
		error = lock_kept(a, t->f);
	if (error)
		return error;
	if (at_position) {
		file_lock(t->f);
		offset = (uint64_t)t->f->shared->position;
	}
	error = move_once(a, t, &offset, done);
	if (at_position) {
		if (*done)
			t->f->shared->position = (int64_t)(offset + *done);
		file_unlock(t->f);
	}
	return *done ? 0 : error;
}

/* An offset of -1: the position. */
static ssize_t transfer(struct file *f, bool writing, const struct iovec *vector, int count,
			off_t offset)
{
	struct transfer t; /* not cleared: its pieces are many */
	struct asking a;
	uint64_t done = 0;
	int error = may_transfer(f, writing);

	t.f = f;
	t.n = 0;
	t.bytes = 0;
	t.writing = writing;
	t.append = writing && f->shared->flags & O_APPEND;
	if (error)
		return fail(error);
	error = asking_begin(&a, f->shared->path);
	if (!error)
		error = take_vector(&t, vector, count, t.append ? a.client->server.data : MOST);
	if (!error && t.bytes)
		error = move(&a, &t, (uint64_t)offset, &done, offset == -1);
	return asking_end(&a, error) ? -1 : (ssize_t)done;
}

ssize_t data_read(struct file *f, const struct iovec *vector, int count, off_t offset)
{
	return transfer(f, false, vector, count, offset);
}

ssize_t data_write(struct file *f, const struct iovec *vector, int count, off_t offset)
{
	return transfer(f, true, vector, count, offset);
}

/* ---- the calls ---- */

ssize_t forward_read(struct file *f, void *buf, size_t count)
{
	return data_read(f, &(struct iovec){buf, count}, 1, -1);
}

ssize_t forward_write(struct file *f, const void *buf, size_t count)
{
	return data_write(f, &(struct iovec){(void *)(uintptr_t)buf, count}, 1, -1);
}

ssize_t forward_readv(struct file *f, const struct iovec *vector, int count)
{
	return data_read(f, vector, count, -1);
}

ssize_t forward_writev(struct file *f, const struct iovec *vector, int count)
{
	return data_write(f, vector, count, -1);
}

ssize_t forward_preadv(struct file *f, const struct iovec *vector, int count, off_t offset)
{
	return offset < 0 ? fail(EINVAL) : data_read(f, vector, count, offset);
}

ssize_t forward_pwritev(struct file *f, const struct iovec *vector, int count, off_t offset)
{
	return offset < 0 ? fail(EINVAL) : data_write(f, vector, count, offset);
}

ssize_t forward_pread(struct file *f, void *buf, size_t count, off_t offset)
{
	return forward_preadv(f, &(struct iovec){buf, count}, 1, offset);
}

ssize_t forward_pwrite(struct file *f, const void *buf, size_t count, off_t offset)
{
	return forward_pwritev(f, &(struct iovec){(void *)(uintptr_t)buf, count}, 1, offset);
}

ssize_t forward_preadv2(struct file *f, const struct iovec *vector, int count, off_t offset,
			int flags)
{
	if (flags & ~RWF_HIPRI)
		return fail(EOPNOTSUPP);
	return offset < -1 ? fail(EINVAL) : data_read(f, vector, count, offset);
}

ssize_t forward_pwritev2(struct file *f, const struct iovec *vector, int count, off_t offset,
			 int flags)
{
	ssize_t done;

	if (flags & ~(RWF_HIPRI | RWF_DSYNC | RWF_SYNC))
		return fail(EOPNOTSUPP);
	if (offset < -1)
		return fail(EINVAL);
	done = data_write(f, vector, count, offset);
	if (done > 0 && flags & (RWF_DSYNC | RWF_SYNC) && forward_fsync(f))
		return -1;
	return done;
}

static off_t seek_from(struct file *f, off_t distance, int whence, off_t *from)
{
	struct fathom_fwd_attr attr;

	*from = whence == SEEK_CUR ? f->shared->position : 0;
	if (whence == SEEK_SET || whence == SEEK_CUR)
		return 0;
	if (whence != SEEK_END && whence != SEEK_DATA && whence != SEEK_HOLE)
		return fail(EINVAL);
	if (attributes(f, &attr))
		return -1;
	if (whence != SEEK_END && (distance < 0 || distance >= (off_t)attr.size))
		return fail(ENXIO);
	*from = whence == SEEK_DATA ? 0 : (off_t)attr.size; /* it is all data, and then a hole */
	if (whence == SEEK_HOLE)
		*from -= distance;
	return 0;
}

off_t forward_lseek(struct file *f, off_t distance, int whence)
{
	off_t from, position;

	if (seek_from(f, distance, whence, &from))
		return -1;
	if (__builtin_add_overflow(from, distance, &position))
		return fail(EOVERFLOW);
	if (position < 0)
		return fail(EINVAL);
	file_lock(f);
	f->shared->position = position;
	file_unlock(f);
	return position;
}

/* ---- sizes, and data that is to stay ---- */

static int resize(struct file *f, uint64_t size, bool only_grow)
{
	struct fathom_fwd_attr attr = {.size = size};
	struct asking a;
	int error = file_asking(&a, f);

	asking_mixed(&a);
	if (!error)
		error = lock_kept(&a, f);
	if (!error && only_grow)
		error = fathom_fwd_getattr(a.client, &f->shared->handle, &attr, &a.hints);
	if (!error && (!only_grow || attr.size < size))
		error = fathom_fwd_resize(a.client, &f->shared->handle, size, &a.hints);
	return asking_end(&a, error);
}

int forward_ftruncate(struct file *f, off_t length)
{
	if (length < 0 || (f->shared->flags & O_ACCMODE) == O_RDONLY)
		return fail(EINVAL);
	return resize(f, (uint64_t)length, false);
}

/* Space is not set aside; the file only gets as long as asked. */
int forward_posix_fallocate(struct file *f, off_t offset, off_t count)
{
	int before = errno, error;

	if (offset < 0 || count <= 0)
		return EINVAL;
	if ((f->shared->flags & O_ACCMODE) == O_RDONLY)
		return EBADF;
	error = resize(f, (uint64_t)(offset + count), true) ? errno : 0;
	errno = before;
	return error;
}

int forward_posix_fadvise(struct file *f, off_t offset, off_t count, int advice)
{
	(void)f, (void)offset, (void)count, (void)advice;
	return 0;
}

ssize_t forward_readahead(struct file *f, off_t offset, size_t count)
{
	(void)f, (void)offset, (void)count;
	return 0;
}

/* Whoever asks first hears of an error from the server; all others that have the file open hear of it from us. `told`: it
 * is not told again. */
static int commit(struct file *f, enum fathom_fwd_level level, bool told)
{
	struct asking a;
	int error = file_asking(&a, f), failed;
	uint64_t mark = atomic_load(&f->errors);

	if (!error && told)
		error = lock_kept(&a, f);
	if (error)
		return asking_end(&a, error);
	error = fathom_fwd_commit(a.client, &f->shared->handle, level, NULL, &a.hints);
	failed = fathom_fwd_error_since(a.client, &f->shared->handle, &mark);
	if (told)
		atomic_store(&f->errors, mark);
	return asking_end(&a, failed ? failed : error);
}

int data_settle(struct file *f)
{
	bool writes = (f->shared->flags & O_ACCMODE) != O_RDONLY && !S_ISDIR(f->shared->mode) &&
		      atomic_load(&f->holder) == getpid();

	/* a duplicate that stays open is to hear of it, too */
	return writes && settings()->level == FATHOM_FWD_ACCEPTED
		       ? commit(f, FATHOM_FWD_WRITTEN, false)
		       : 0;
}

int forward_fsync(struct file *f)
{
	return commit(f, FATHOM_FWD_SYNCED, true);
}

int forward_sync_file_range(struct file *f, off_t offset, off_t count, unsigned int flags)
{
	(void)offset, (void)count, (void)flags;
	return commit(f, FATHOM_FWD_WRITTEN, true);
}

void forward_sync(void)
{
	struct asking a;
	int before = errno, error;

	next_sync();
	if (!settings())
		return;
	error = asking_begin(&a, NULL);
	if (!error)
		error = fathom_fwd_commit(a.client, NULL, FATHOM_FWD_SYNCED, NULL, &a.hints);
	asking_end(&a, error);
	errno = before;
}

/* ---- from descriptor to descriptor: read here and written there ---- */

/* So many bytes were moved at an offset, which moves on; of a file that is not needed any more. */
static ssize_t moved(struct file *f, off_t *offset, ssize_t done)
{
	if (f)
		file_put(f);
	if (offset && done > 0)
		*offset += done;
	return done;
}

/* offset NULL: the position. */
static ssize_t any_read(int fd, void *buf, size_t count, off_t *offset)
{
	struct file *f = file_get(fd);
	ssize_t done;

	if (f)
		done = data_read(f, &(struct iovec){buf, count}, 1, offset ? *offset : -1);
	else
		done = offset ? next_pread(fd, buf, count, *offset) : next_read(fd, buf, count);
	return moved(f, offset, done);
}

static ssize_t any_write(int fd, const char *buf, size_t count, off_t *offset)
{
	struct file *f = file_get(fd);
	struct iovec piece = {(void *)(uintptr_t)buf, count};
	ssize_t done;

	if (f)
		done = data_write(f, &piece, 1, offset ? *offset : -1);
	else
		done = offset ? next_pwrite(fd, buf, count, *offset) : next_write(fd, buf, count);
	return moved(f, offset, done);
}

static ssize_t write_all(int fd, const char *buf, size_t count, off_t *offset)
{
	size_t done = 0;

	while (done < count) {
		ssize_t n = any_write(fd, buf + done, count - done, offset);

		if (n < 0)
			return done ? (ssize_t)done : -1;
		done += (size_t)n;
	}
	return (ssize_t)done;
}

static ssize_t copy(int in, off_t *in_offset, int out, off_t *out_offset, size_t count)
{
	size_t room = count < COPIED ? count : COPIED, done = 0;
	char *buffer = malloc(room ? room : 1);
	ssize_t n = 0;

	if (!buffer)
		return -1;
	while (done < count) {
		n = any_read(in, buffer, MIN(room, count - done), in_offset);
		if (n > 0)
			n = write_all(out, buffer, (size_t)n, out_offset);
		if (n <= 0)
			break;
		done += (size_t)n;
	}
	free(buffer);
	return done ? (ssize_t)done : n;
}

/* An end of a copy, ours or the kernel's. */
struct copied {
	int flags;
	uint64_t dev, ino, size;
	int64_t position;
};

static int about_copied(int fd, struct copied *end)
{
	struct file *f = file_get(fd);
	struct fathom_fwd_attr attr;
	struct stat about;
	int error, flags;

	if (!f) {
		flags = next_fcntl(fd, F_GETFL, 0);
		if (flags < 0 || syscall(SYS_fstat, fd, &about))
			return -1;
		*end = (struct copied){flags, about.st_dev, about.st_ino, (uint64_t)about.st_size,
				       syscall(SYS_lseek, fd, 0, SEEK_CUR)};
		return 0;
	}
	error = attributes(f, &attr);
	*end = (struct copied){f->shared->flags, attr.dev, attr.ino, attr.size,
			       f->shared->position};
	file_put(f);
	return error;
}

static bool may_copy(const struct copied *in, const struct copied *out)
{
	return !((in->flags | out->flags) & O_PATH) && (in->flags & O_ACCMODE) != O_WRONLY &&
	       (out->flags & O_ACCMODE) != O_RDONLY;
}

ssize_t forward_sendfile(int out_fd, int in_fd, off_t *offset, size_t count)
{
	struct copied in, out;

	if (about_copied(in_fd, &in) || about_copied(out_fd, &out))
		return -1;
	if (!may_copy(&in, &out))
		return fail(EBADF);
	if ((offset && *offset < 0) || out.flags & O_APPEND)
		return fail(EINVAL);
	return copy(in_fd, offset, out_fd, NULL, count);
}

ssize_t forward_copy_file_range(int in_fd, off_t *in_offset, int out_fd, off_t *out_offset,
				size_t count, unsigned int flags)
{
	struct copied in, out;
	uint64_t from, to;

	if (flags)
		return fail(EINVAL);
	if (about_copied(in_fd, &in) || about_copied(out_fd, &out))
		return -1;
	if (!may_copy(&in, &out) || out.flags & O_APPEND)
		return fail(EBADF);
	from = (uint64_t)(in_offset ? *in_offset : in.position);
	to = (uint64_t)(out_offset ? *out_offset : out.position);
	if ((int64_t)from < 0 || (int64_t)to < 0)
		return fail(EINVAL);
	/* no more than there is now: what it writes it does not read again */
	count = from < in.size ? MIN(count, in.size - from) : 0;
	if (in.dev == out.dev && in.ino == out.ino && from < to + count && to < from + count)
		return fail(EINVAL);
	return copy(in_fd, in_offset, out_fd, out_offset, count);
}

/* One buffer at most: who reads a pipe does not ask for more than it has. */
ssize_t forward_splice(int in_fd, off_t *in_offset, int out_fd, off_t *out_offset, size_t count,
		       unsigned int flags)
{
	struct file *f = file_get(out_fd);
	bool appends = f && f->shared->flags & O_APPEND;

	(void)flags;
	if (f)
		file_put(f);
	if (appends)
		return fail(EINVAL);
	return copy(in_fd, in_offset, out_fd, out_offset, MIN(count, 65536));
}

/* ---- mappings ---- */

static int fill(struct file *f, char *to, size_t length, off_t offset)
{
	while (length) {
		ssize_t n = data_read(f, &(struct iovec){to, length}, 1, offset);

		if (n <= 0)
			return (int)n;
		to += n;
		offset += n;
		length -= (size_t)n;
	}
	return 0;
}

/* A private mapping is a copy of its own, made at once. */
void *forward_mmap(struct file *f, void *wanted, size_t length, int protection, int flags,
		   off_t offset)
{
	int memory = MAP_ANONYMOUS | (flags & ~(MAP_TYPE | MAP_POPULATE));
	void *mapped;

	if ((flags & MAP_TYPE) != MAP_PRIVATE) {
		complain(25, "a shared mapping of %s is not done: ENODEV", f->shared->path);
		errno = ENODEV;
		return MAP_FAILED;
	}
	if (offset < 0 || offset % sysconf(_SC_PAGESIZE)) {
		errno = EINVAL;
		return MAP_FAILED;
	}
	mapped = next_mmap(wanted, length, PROT_READ | PROT_WRITE, memory | MAP_PRIVATE, -1, 0);
	if (mapped == MAP_FAILED)
		return mapped;
	if (fill(f, mapped, length, offset) || mprotect(mapped, length, protection)) {
		int error = errno;

		munmap(mapped, length);
		errno = error;
		return MAP_FAILED;
	}
	return mapped;
}
