/* Bytes: reads and writes, positions, sizes, copies to other descriptors, private mappings. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/param.h>
#include <sys/resource.h>
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
	bool over_limit; /* of RLIMIT_FSIZE */
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

/* The first `bytes` of it are moved, no more. */
static void cut(struct transfer *t, uint64_t bytes)
{
	t->bytes = bytes;
	for (uint32_t i = 0; i < t->n; i++) {
		size_t length = t->piece[i].iov_len;

		t->piece[i].iov_len = length < bytes ? length : bytes;
		bytes -= t->piece[i].iov_len;
	}
}

/* A limit of this process, so it is ours to keep; of an append by the size that the file has before it. */
static int keep_limit(struct asking *a, struct transfer *t, uint64_t offset)
{
	struct fathom_fwd_attr attr = {.size = offset};
	struct rlimit limit;
	int error = 0;

	if (!t->writing || getrlimit(RLIMIT_FSIZE, &limit) || limit.rlim_cur == RLIM_INFINITY)
		return 0;
	if (t->append)
		error = fathom_fwd_getattr(a->client, &t->f->shared->handle, &attr, &a->hints);
	t->over_limit = !error && attr.size >= limit.rlim_cur;
	if (t->over_limit)
		return EFBIG;
	if (!error && t->bytes > limit.rlim_cur - attr.size)
		cut(t, limit.rlim_cur - attr.size);
	return error;
}

static int move_once(struct asking *a, struct transfer *t, uint64_t *offset, uint64_t *done)
{
	const struct fathom_fwd_handle *handle = &t->f->shared->handle;
	struct fathom_fwd_extent extent;
	int error;

	if (!t->append && *offset + t->bytes > INT64_MAX)
		return EINVAL;
	error = keep_limit(a, t, *offset);
	if (error)
		return error;
	extent = (struct fathom_fwd_extent){*offset, t->bytes};
	if (!t->writing && t->f->shared->flags & O_NOATIME)
		asking_quietly(a);
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

/* -1 and EFBIG, and the signal of it. */
static int over_limit(void)
{
	raise(SIGXFSZ);
	return fail(EFBIG);
}

/* An offset of -1: the position. `flags`: RWF_APPEND, or 0. */
static ssize_t transfer(struct file *f, bool writing, const struct iovec *vector, int count,
			off_t offset, int flags)
{
	struct transfer t; /* not cleared: its pieces are many */
	struct asking a;
	uint64_t done = 0;
	int error = may_transfer(f, writing);

	t.f = f;
	t.n = 0;
	t.bytes = 0;
	t.writing = writing;
	t.append = writing && (f->shared->flags & O_APPEND || flags & RWF_APPEND);
	t.over_limit = false;
	if (error)
		return fail(error);
	error = asking_begin(&a, f->shared->path);
	if (!error)
		error = take_vector(&t, vector, count, t.append ? a.client->server.data : MOST);
	if (!error && t.bytes)
		error = move(&a, &t, (uint64_t)offset, &done, offset == -1);
	if (asking_end(&a, error))
		return t.over_limit ? over_limit() : -1;
	return (ssize_t)done;
}

ssize_t data_read(struct file *f, const struct iovec *vector, int count, off_t offset)
{
	return transfer(f, false, vector, count, offset, 0);
}

ssize_t data_write(struct file *f, const struct iovec *vector, int count, off_t offset)
{
	return transfer(f, true, vector, count, offset, 0);
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

	if (flags & ~(RWF_HIPRI | RWF_DSYNC | RWF_SYNC | RWF_APPEND))
		return fail(EOPNOTSUPP);
	if (offset < -1)
		return fail(EINVAL);
	done = transfer(f, true, vector, count, offset, flags);
	if (done > 0 && flags & (RWF_DSYNC | RWF_SYNC) && forward_fsync(f))
		return -1;
	return done;
}

static off_t seek_from(struct file *f, int whence, off_t *from)
{
	struct fathom_fwd_attr attr;

	*from = whence == SEEK_CUR ? f->shared->position : 0;
	if (whence == SEEK_SET || whence == SEEK_CUR)
		return 0;
	if (whence != SEEK_END)
		return fail(EINVAL);
	if (attributes(f, &attr))
		return -1;
	*from = (off_t)attr.size;
	return 0;
}

/* Where the next data or hole is. */
static off_t look_for(struct file *f, off_t from, enum fathom_fwd_seek what)
{
	uint64_t place = 0;
	struct asking a;
	int error = file_asking(&a, f);

	if (!error && from < 0)
		error = ENXIO;
	if (!error)
		error = fathom_fwd_seek(a.client, &f->shared->handle, (uint64_t)from, what, &place,
					&a.hints);
	return asking_end(&a, error) ? -1 : (off_t)place;
}

off_t forward_lseek(struct file *f, off_t distance, int whence)
{
	off_t from, position;

	if (whence == SEEK_DATA || whence == SEEK_HOLE) {
		from = look_for(f, distance,
				whence == SEEK_DATA ? FATHOM_FWD_DATA : FATHOM_FWD_HOLE);
		distance = 0;
		if (from < 0)
			return -1;
	} else if (seek_from(f, whence, &from))
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

static int resize(struct file *f, uint64_t size)
{
	struct asking a;
	int error = file_asking(&a, f);

	asking_mixed(&a);
	if (!error)
		error = lock_kept(&a, f);
	if (!error)
		error = fathom_fwd_resize(a.client, &f->shared->handle, size, &a.hints);
	return asking_end(&a, error);
}

/* The file would get longer than this process may make one. */
static bool exceeds_limit(struct file *f, uint64_t size)
{
	struct fathom_fwd_attr attr;
	struct rlimit limit;

	return !getrlimit(RLIMIT_FSIZE, &limit) && size > limit.rlim_cur && !attributes(f, &attr) &&
	       size > attr.size;
}

int forward_ftruncate(struct file *f, off_t length)
{
	if (f->shared->flags & O_PATH)
		return fail(EBADF);
	if (length < 0 || (f->shared->flags & O_ACCMODE) == O_RDONLY)
		return fail(EINVAL);
	if (exceeds_limit(f, (uint64_t)length))
		return over_limit();
	return resize(f, (uint64_t)length);
}

/* What the kernel says before it asks a file system; 0 or an errno. */
static int may_allocate(const struct file *f, off_t offset, off_t count)
{
	off_t end;

	if (offset < 0 || count <= 0)
		return EINVAL;
	if (f->shared->flags & O_PATH || (f->shared->flags & O_ACCMODE) == O_RDONLY)
		return EBADF;
	return __builtin_add_overflow(offset, count, &end) ? EFBIG : 0;
}

int forward_fallocate(struct file *f, int mode, off_t offset, off_t count)
{
	struct asking a;
	int error = may_allocate(f, offset, count);

	if (error)
		return fail(error);
	if (!(mode & FATHOM_FWD_KEEP_SIZE) && exceeds_limit(f, (uint64_t)(offset + count)))
		return over_limit();
	error = file_asking(&a, f);
	asking_mixed(&a);
	if (!error)
		error = lock_kept(&a, f);
	if (!error)
		error = fathom_fwd_allocate(a.client, &f->shared->handle, (uint32_t)mode,
					    (uint64_t)offset, (uint64_t)count, &a.hints);
	return asking_end(&a, error);
}

/* Where the server cannot, it is not made up: who wrote zeros might write over another's bytes. */
int forward_posix_fallocate(struct file *f, off_t offset, off_t count)
{
	int before = errno, error = forward_fallocate(f, 0, offset, count) ? errno : 0;

	errno = before;
	return error;
}

/* The server reads ahead by what it sees; what is asked is checked as the kernel does. */
int forward_posix_fadvise(struct file *f, off_t offset, off_t count, int advice)
{
	(void)offset;
	if (f->shared->flags & O_PATH)
		return EBADF;
	return count < 0 || advice < POSIX_FADV_NORMAL || advice > POSIX_FADV_NOREUSE ? EINVAL : 0;
}

ssize_t forward_readahead(struct file *f, off_t offset, size_t count)
{
	int error = may_transfer(f, false);

	(void)offset, (void)count;
	return error ? fail(error == EISDIR ? EINVAL : error) : 0;
}

/* Whoever asks first hears of an error from the server; all others that have the file open hear of it from us. `reports`:
 * it is not told again. */
static int commit(struct file *f, enum fathom_fwd_level level, bool reports)
{
	struct asking a;
	int error = file_asking(&a, f), failed;
	uint64_t mark = atomic_load(&f->errors);

	if (!error && reports)
		error = lock_kept(&a, f);
	if (error)
		return asking_end(&a, error);
	error = fathom_fwd_commit(a.client, &f->shared->handle, level, NULL, &a.hints);
	failed = fathom_fwd_error_since(a.client, &f->shared->handle, &mark);
	if (reports)
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
	return f->shared->flags & O_PATH ? fail(EBADF) : commit(f, FATHOM_FWD_SYNCED, true);
}

int forward_sync_file_range(struct file *f, off_t offset, off_t count, unsigned int flags)
{
	const unsigned int all =
		SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER;
	off_t end;

	if (f->shared->flags & O_PATH)
		return fail(EBADF);
	if (flags & ~all || offset < 0 || count < 0 || __builtin_add_overflow(offset, count, &end))
		return fail(EINVAL);
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

/* `once`: what one read gives, and no more. */
static ssize_t copy(int in, off_t *in_offset, int out, off_t *out_offset, size_t count, bool once)
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
		if (once)
			break;
	}
	free(buffer);
	return done ? (ssize_t)done : n;
}

/* An end of a copy, ours or the kernel's. */
struct copied {
	int flags;
	mode_t mode;
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
		*end = (struct copied){
			flags,        about.st_mode,           about.st_dev,
			about.st_ino, (uint64_t)about.st_size, syscall(SYS_lseek, fd, 0, SEEK_CUR)};
		return 0;
	}
	error = attributes(f, &attr);
	*end = (struct copied){f->shared->flags, attr.mode, attr.dev,
			       attr.ino,         attr.size, f->shared->position};
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
	return copy(in_fd, offset, out_fd, NULL, count, false);
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
	if (from + count < from || to + count < to)
		return fail(EOVERFLOW);
	if ((int64_t)from < 0 || (int64_t)to < 0)
		return fail(EINVAL);
	/* no more than there is now: what it writes it does not read again */
	count = from < in.size ? MIN(count, in.size - from) : 0;
	if (in.dev == out.dev && in.ino == out.ino && from < to + count && to < from + count)
		return fail(EINVAL);
	return copy(in_fd, in_offset, out_fd, out_offset, count, false);
}

/* One end is a pipe. What one read gives, one buffer at most: a pipe is not waited for again. */
ssize_t forward_splice(int in_fd, off_t *in_offset, int out_fd, off_t *out_offset, size_t count,
		       unsigned int flags)
{
	struct copied in, out;

	(void)flags;
	if (about_copied(in_fd, &in) || about_copied(out_fd, &out))
		return -1;
	if (!may_copy(&in, &out))
		return fail(EBADF);
	if ((S_ISFIFO(in.mode) && in_offset) || (S_ISFIFO(out.mode) && out_offset))
		return fail(ESPIPE);
	if (!(S_ISFIFO(in.mode) || S_ISFIFO(out.mode)) || out.flags & O_APPEND ||
	    (in_offset && *in_offset < 0) || (out_offset && *out_offset < 0))
		return fail(EINVAL);
	return copy(in_fd, in_offset, out_fd, out_offset, MIN(count, 65536), true);
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

static int may_map(const struct file *f)
{
	if (f->shared->flags & O_PATH)
		return EBADF;
	if ((f->shared->flags & O_ACCMODE) == O_WRONLY)
		return EACCES;
	return S_ISREG(f->shared->mode) ? 0 : ENODEV;
}

/* A private mapping is a copy of its own, made at once. */
void *forward_mmap(struct file *f, void *wanted, size_t length, int protection, int flags,
		   off_t offset)
{
	int memory = MAP_ANONYMOUS | (flags & ~(MAP_TYPE | MAP_POPULATE));
	int error = may_map(f);
	void *mapped;

	if (error) {
		errno = error;
		return MAP_FAILED;
	}
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
