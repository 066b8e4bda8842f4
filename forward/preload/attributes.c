/* What is known of a file, and what of that a program changes. */
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "attributes.h"
#include "names.h"
#include "skin.h"

static _Atomic int mask = -1;

/* The kernel tells the mask only to who changes it, so it is asked once and then followed. */
mode_t mask_now(void)
{
	mode_t before;

	if (mask >= 0)
		return (mode_t)mask;
	before = next_umask(077);
	next_umask(before);
	mask = (int)before;
	return before;
}

mode_t forward_umask(mode_t wanted)
{
	mask = (int)(wanted & 0777);
	return next_umask(wanted);
}

/* ---- asked ---- */

int attributes(struct file *f, struct fathom_fwd_attr *attr)
{
	struct asking a;
	int error = file_asking(&a, f);

	if (!error)
		error = fathom_fwd_getattr(a.client, &f->shared->handle, attr, &a.hints);
	return asking_end(&a, error);
}

static struct statx_timestamp stamp_of(const struct fathom_fwd_time *t)
{
	return (struct statx_timestamp){.tv_sec = t->seconds, .tv_nsec = t->nanoseconds};
}

int forward_fstatat(const struct place *at, struct stat *buf, int flags)
{
	struct fathom_fwd_attr attr;

	if (name_flags(flags, AT_NO_AUTOMOUNT) || name_attributes(at, flags, NULL, &attr))
		return -1;
	*buf = as_stat(&attr);
	return 0;
}

int forward_stat(const struct place *at, struct stat *buf)
{
	return forward_fstatat(at, buf, 0);
}

int forward_lstat(const struct place *at, struct stat *buf)
{
	return forward_fstatat(at, buf, AT_SYMLINK_NOFOLLOW);
}

int forward_fstat(struct file *f, struct stat *buf)
{
	struct fathom_fwd_attr attr;

	if (attributes(f, &attr))
		return -1;
	*buf = as_stat(&attr);
	return 0;
}

int forward_statx(const struct place *at, int flags, unsigned int mask_, struct statx *buf)
{
	struct fathom_fwd_attr a;

	if (mask_ & STATX__RESERVED || (flags & AT_STATX_SYNC_TYPE) == AT_STATX_SYNC_TYPE) {
		errno = EINVAL;
		return -1;
	}
	if (name_flags(flags, AT_STATX_SYNC_TYPE | AT_NO_AUTOMOUNT) ||
	    name_attributes(at, flags, NULL, &a))
		return -1;
	*buf = (struct statx){.stx_mask = STATX_BASIC_STATS | (a.birth.seconds ? STATX_BTIME : 0),
			      .stx_blksize = a.blksize,
			      .stx_nlink = a.nlink,
			      .stx_uid = a.uid,
			      .stx_gid = a.gid,
			      .stx_mode = (uint16_t)a.mode,
			      .stx_ino = a.ino,
			      .stx_size = a.size,
			      .stx_blocks = a.blocks,
			      .stx_atime = stamp_of(&a.atime),
			      .stx_btime = stamp_of(&a.birth),
			      .stx_ctime = stamp_of(&a.ctime),
			      .stx_mtime = stamp_of(&a.mtime),
			      .stx_rdev_major = major(a.rdev),
			      .stx_rdev_minor = minor(a.rdev),
			      .stx_dev_major = major(a.dev),
			      .stx_dev_minor = minor(a.dev)};
	return 0;
}

/* The server runs as us; what its system lets us do is not asked, but read from the mode. */
static bool may(const struct fathom_fwd_attr *attr, unsigned int wanted, uid_t uid, gid_t gid)
{
	unsigned int mode = attr->mode;

	if (!uid)
		return !(wanted & X_OK) || S_ISDIR(mode) || mode & 0111;
	mode >>= uid == attr->uid ? 6 : gid == attr->gid ? 3 : 0;
	return (mode & wanted) == wanted;
}

int forward_faccessat(const struct place *at, int mode, int flags)
{
	struct fathom_fwd_attr attr;
	bool effective = flags & AT_EACCESS;

	if (mode & ~(R_OK | W_OK | X_OK)) {
		errno = EINVAL;
		return -1;
	}
	if (name_flags(flags, AT_EACCESS) || name_attributes(at, flags & ~AT_EACCESS, NULL, &attr))
		return -1;
	if (may(&attr, (unsigned int)mode, effective ? geteuid() : getuid(),
		effective ? getegid() : getgid()))
		return 0;
	errno = EACCES;
	return -1;
}

int forward_access(const struct place *at, int mode)
{
	return forward_faccessat(at, mode, 0);
}

/* ---- the file system ---- */

enum { KIND = 0x46574454 /* no kernel's: a program takes it for a usual file system */ };

static int space(const struct fathom_fwd_handle *handle, const char *path,
		 struct fathom_fwd_statfs *about)
{
	struct asking a;
	int error = asking_begin(&a, path);

	asking_about(&a, handle, path);
	if (!error)
		error = fathom_fwd_statfs(a.client, handle, about, &a.hints);
	return asking_end(&a, error);
}

static void fill_statfs(struct statfs *buf, const struct fathom_fwd_statfs *s)
{
	*buf = (struct statfs){.f_type = KIND,
			       .f_bsize = (long)s->bsize,
			       .f_blocks = s->blocks,
			       .f_bfree = s->bfree,
			       .f_bavail = s->bavail,
			       .f_files = s->files,
			       .f_ffree = s->ffree,
			       .f_namelen = s->namemax,
			       .f_frsize = (long)s->frsize};
}

static int space_at(const struct place *at, struct fathom_fwd_statfs *about)
{
	struct fathom_fwd_handle handle;

	return name_attributes(at, 0, &handle, NULL) || space(&handle, at->path, about) ? -1 : 0;
}

int forward_statfs(const struct place *at, struct statfs *buf)
{
	struct fathom_fwd_statfs about;

	if (space_at(at, &about))
		return -1;
	fill_statfs(buf, &about);
	return 0;
}

int forward_statvfs(const struct place *at, struct statvfs *buf)
{
	struct fathom_fwd_statfs about;

	if (space_at(at, &about))
		return -1;
	*buf = as_statvfs(&about);
	return 0;
}

int forward_fstatfs(struct file *f, struct statfs *buf)
{
	struct fathom_fwd_statfs about;

	if (space(&f->shared->handle, f->shared->path, &about))
		return -1;
	fill_statfs(buf, &about);
	return 0;
}

int forward_fstatvfs(struct file *f, struct statvfs *buf)
{
	struct fathom_fwd_statfs about;

	if (space(&f->shared->handle, f->shared->path, &about))
		return -1;
	*buf = as_statvfs(&about);
	return 0;
}

/* What the file system says of names, what libc says of the rest. */
static long limit_of(int which, const struct fathom_fwd_statfs *about)
{
	switch (which) {
	case _PC_NAME_MAX:
		return about->namemax;
	case _PC_FILESIZEBITS:
		return 64;
	case _PC_LINK_MAX:
		return -1; /* the server's file system has one, and nobody says it */
	default:
		return next_pathconf("/", which);
	}
}

long forward_pathconf(const struct place *at, int which)
{
	struct fathom_fwd_statfs about;

	return space_at(at, &about) ? -1 : limit_of(which, &about);
}

long forward_fpathconf(struct file *f, int which)
{
	struct fathom_fwd_statfs about;

	if (space(&f->shared->handle, f->shared->path, &about))
		return -1;
	return limit_of(which, &about);
}

/* ---- changed ---- */

static int change(struct file *f, uint32_t which, struct fathom_fwd_attr *attr)
{
	struct asking a;
	int error = file_asking(&a, f);

	if (!error && f->shared->flags & O_PATH)
		error = EBADF;
	if (!error)
		error = fathom_fwd_setattr(a.client, &f->shared->handle, which, attr, &a.hints);
	return asking_end(&a, error);
}

static int change_at(const struct place *at, int flags, uint32_t which,
		     struct fathom_fwd_attr *attr)
{
	struct fathom_fwd_handle handle;
	struct asking a;
	int error;

	if (name_flags(flags, 0) || name_attributes(at, flags, &handle, NULL))
		return -1;
	error = asking_begin(&a, at->text);
	if (!at->by_handle)
		asking_about(&a, &handle, at->path);
	if (!error)
		error = fathom_fwd_setattr(a.client, &handle, which, attr, &a.hints);
	return asking_end(&a, error);
}

int forward_fchmodat(const struct place *at, mode_t mode, int flags)
{
	struct fathom_fwd_attr attr = {.mode = mode & 07777};

	if (flags & AT_SYMLINK_NOFOLLOW) {
		errno = EOPNOTSUPP; /* as Linux */
		return -1;
	}
	return change_at(at, flags, FATHOM_FWD_SET_MODE, &attr);
}

int forward_chmod(const struct place *at, mode_t mode)
{
	return forward_fchmodat(at, mode, 0);
}

int forward_lchmod(const struct place *at, mode_t mode)
{
	return forward_fchmodat(at, mode, AT_SYMLINK_NOFOLLOW);
}

int forward_fchmod(struct file *f, mode_t mode)
{
	struct fathom_fwd_attr attr = {.mode = mode & 07777};

	return change(f, FATHOM_FWD_SET_MODE, &attr);
}

/* -1 is none, for the server's system, too: what the call does besides, it does all the same. */
static uint32_t owners(struct fathom_fwd_attr *attr, uid_t owner, gid_t group)
{
	attr->uid = owner;
	attr->gid = group;
	return FATHOM_FWD_SET_UID | FATHOM_FWD_SET_GID;
}

int forward_fchownat(const struct place *at, uid_t owner, gid_t group, int flags)
{
	struct fathom_fwd_attr attr = {.mode = 0};

	return change_at(at, flags, owners(&attr, owner, group), &attr);
}

int forward_chown(const struct place *at, uid_t owner, gid_t group)
{
	return forward_fchownat(at, owner, group, 0);
}

int forward_lchown(const struct place *at, uid_t owner, gid_t group)
{
	return forward_fchownat(at, owner, group, AT_SYMLINK_NOFOLLOW);
}

int forward_fchown(struct file *f, uid_t owner, gid_t group)
{
	struct fathom_fwd_attr attr = {.mode = 0};

	return change(f, owners(&attr, owner, group), &attr);
}

/* ---- times ---- */

static uint32_t one_time(struct fathom_fwd_time *to, const struct timespec *from, uint32_t given,
			 uint32_t now)
{
	if (!from || from->tv_nsec == UTIME_NOW)
		return now;
	*to = (struct fathom_fwd_time){from->tv_sec, (uint32_t)from->tv_nsec};
	return from->tv_nsec == UTIME_OMIT ? 0 : given;
}

static uint32_t times_of(struct fathom_fwd_attr *attr, const struct timespec *times)
{
	return one_time(&attr->atime, times, FATHOM_FWD_SET_ATIME, FATHOM_FWD_SET_ATIME_NOW) |
	       one_time(&attr->mtime, times ? times + 1 : NULL, FATHOM_FWD_SET_MTIME,
			FATHOM_FWD_SET_MTIME_NOW);
}

/* NULL stays NULL. */
static const struct timespec *finer(struct timespec fine[2], const struct timeval *times)
{
	for (int i = 0; times && i < 2; i++)
		fine[i] = (struct timespec){times[i].tv_sec, times[i].tv_usec * 1000};
	return times ? fine : NULL;
}

int forward_utimensat(const struct place *at, const struct timespec *times, int flags)
{
	struct fathom_fwd_attr attr = {.mode = 0};

	return change_at(at, flags, times_of(&attr, times), &attr);
}

int forward_futimens(struct file *f, const struct timespec *times)
{
	struct fathom_fwd_attr attr = {.mode = 0};

	return change(f, times_of(&attr, times), &attr);
}

int forward_utimes(const struct place *at, const struct timeval *times)
{
	struct timespec fine[2];

	return forward_utimensat(at, finer(fine, times), 0);
}

int forward_lutimes(const struct place *at, const struct timeval *times)
{
	struct timespec fine[2];

	return forward_utimensat(at, finer(fine, times), AT_SYMLINK_NOFOLLOW);
}

int forward_futimes(struct file *f, const struct timeval *times)
{
	struct timespec fine[2];

	return forward_futimens(f, finer(fine, times));
}

int forward_utime(const struct place *at, const struct utimbuf *times)
{
	struct timeval two[2] = {{.tv_sec = times ? times->actime : 0},
				 {.tv_sec = times ? times->modtime : 0}};

	return forward_utimes(at, times ? two : NULL);
}

int forward_truncate(const struct place *at, off_t length)
{
	int fd = forward_open(at, O_WRONLY | O_CLOEXEC, 0), done = -1;
	struct file *f = fd < 0 ? NULL : file_get(fd);

	if (f) {
		done = forward_ftruncate(f, length);
		file_put(f);
	}
	if (fd >= 0)
		forward_close(fd);
	return done;
}
