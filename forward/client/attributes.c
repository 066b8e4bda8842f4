/* What is known of a file and of its file system, as libc says it. */
#include "attributes.h"

static struct timespec time_of(const struct fathom_fwd_time *t)
{
	return (struct timespec){.tv_sec = t->seconds, .tv_nsec = t->nanoseconds};
}

struct stat as_stat(const struct fathom_fwd_attr *attr)
{
	return (struct stat){
		.st_dev = attr->dev,
		.st_ino = attr->ino,
		.st_mode = attr->mode,
		.st_nlink = attr->nlink,
		.st_uid = attr->uid,
		.st_gid = attr->gid,
		.st_rdev = attr->rdev,
		.st_size = (off_t)attr->size,
		.st_blksize = (blksize_t)attr->blksize,
		.st_blocks = (blkcnt_t)attr->blocks,
		.st_atim = time_of(&attr->atime),
		.st_mtim = time_of(&attr->mtime),
		.st_ctim = time_of(&attr->ctime),
	};
}

struct statvfs as_statvfs(const struct fathom_fwd_statfs *about)
{
	return (struct statvfs){
		.f_bsize = about->bsize,
		.f_frsize = about->frsize,
		.f_blocks = about->blocks,
		.f_bfree = about->bfree,
		.f_bavail = about->bavail,
		.f_files = about->files,
		.f_ffree = about->ffree,
		.f_favail = about->ffree,
		.f_namemax = about->namemax,
	};
}
