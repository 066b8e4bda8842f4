/* Open files and their bytes. The kernel keeps none of them (direct_io), so every read is what the server has. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "mount.h"

static uint32_t request_flags(int flags)
{
	int access = flags & O_ACCMODE;
	uint32_t request = access != O_WRONLY ? FATHOM_FWD_READ : 0;

	request |= access != O_RDONLY ? FATHOM_FWD_WRITE : 0;
	request |= flags & O_NOATIME ? FATHOM_FWD_NOATIME : 0;
	return request | (flags & O_TRUNC ? FATHOM_FWD_TRUNCATE : 0);
}

/* From now on; ENOMEM. */
static int remember(struct fuse_file_info *fi)
{
	fi->direct_io = 1;
	fi->fh = (uintptr_t)opened_new(fi->flags);
	return fi->fh ? 0 : ENOMEM;
}

static void give_back(const struct fathom_fwd_handle *handle)
{
	fathom_fwd_release(mount_point.client, handle, NULL);
}

/* Made by this call, and the caller's; else EEXIST, or another errno. */
static int make(struct ask *a, fuse_req_t req, const char *name, mode_t mode, uint32_t flags,
		struct fathom_fwd_handle *handle, struct fathom_fwd_attr *attr)
{
	const struct fathom_fwd_handle *dir = node_handle(a->node);
	int error;

	flags |= FATHOM_FWD_CREATE | FATHOM_FWD_EXCLUSIVE;
	error = fathom_fwd_open(mount_point.client, dir, name, flags, mode, handle, attr,
				&a->hints);
	if (error)
		return error;
	error = mount_own(a, req, handle, attr);
	if (error) {
		give_back(handle);
		fathom_fwd_remove(mount_point.client, dir, name, 0, NULL);
	}
	return error;
}

void do_create(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode,
	       struct fuse_file_info *fi)
{
	struct fathom_fwd_handle handle;
	struct fuse_entry_param entry;
	struct fathom_fwd_attr attr;
	struct ask a;
	int error;

	ask_begin(&a, parent);
	ask_mixed(&a);
	error = make(&a, req, name, mode, request_flags(fi->flags), &handle, &attr);
	if (error == EEXIST && !(fi->flags & O_EXCL)) /* by another client, just now */
		error = fathom_fwd_open(mount_point.client, node_handle(a.node), name,
					request_flags(fi->flags) | FATHOM_FWD_NOFOLLOW, 0, &handle,
					&attr, &a.hints);
	error = ask_end(&a, error);
	if (!error) {
		error = remember(fi);
		if (!error)
			error = mount_entry(&entry, parent, name, &handle, &attr);
		if (error) {
			opened_end(parent, fi);
			give_back(&handle);
		}
	}
	if (error) {
		fuse_reply_err(req, error);
		return;
	}
	if (fuse_reply_create(req, &entry, fi) == -ENOENT) { /* the caller was killed */
		opened_end(entry.ino, fi);
		give_back(&handle);
		node_forget(node_of(entry.ino), 1);
	}
}

/* By its handle, whatever became of its names. */
static int open_found(struct ask *a, int flags)
{
	const struct fathom_fwd_handle *file = node_handle(a->node);

	return fathom_fwd_open(mount_point.client, file, "", request_flags(flags), 0, NULL, NULL,
			       &a->hints);
}

void do_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct ask a;
	int error;

	ask_begin(&a, ino);
	ask_mixed(&a);
	error = ask_end(&a, open_found(&a, fi->flags));
	if (!error && (error = remember(fi)))
		give_back(node_handle(a.node));
	if (error) {
		fuse_reply_err(req, error);
		return;
	}
	if (fuse_reply_open(req, fi) == -ENOENT) {
		opened_end(ino, fi);
		give_back(node_handle(a.node));
	}
}

/* The time of reading stays. */
static void ask_quietly(struct ask *a)
{
	static const struct fathom_fwd_hint quietly = {.key = FATHOM_FWD_READ_NOATIME};

	a->hints.hint = &quietly;
	a->hints.count = 1;
}

void do_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset, struct fuse_file_info *fi)
{
	struct fathom_fwd_extent extent = {(uint64_t)offset, size};
	struct iovec memory = {malloc(size ? size : 1), size};
	uint64_t done = 0;
	struct ask a;
	int error;

	if (!memory.iov_base) {
		fuse_reply_err(req, ENOMEM);
		return;
	}
	ask_begin(&a, ino);
	if (fi->flags & O_NOATIME)
		ask_quietly(&a);
	opened_hold(&a, fi);
	opened_fence(&a, fi);
	error = fathom_fwd_read(mount_point.client, node_handle(a.node), &memory, 1, &extent, 1,
				&done, &a.hints);
	opened_held(&a, fi);
	if (ask_end(&a, error))
		fuse_reply_err(req, error);
	else
		fuse_reply_buf(req, memory.iov_base, done);
	free(memory.iov_base);
}

/* The kernel takes set-user-ID and set-group-ID from a file that another than root writes; past its cache that is ours to do. */
static int end_set_id(struct ask *a, fuse_req_t req)
{
	struct fathom_fwd_attr attr;
	int error;

	if (!node_set_id(a->node) || !fuse_req_ctx(req)->uid)
		return 0;
	error = fathom_fwd_getattr(mount_point.client, node_handle(a->node), &attr, &a->hints);
	if (!error && takes_set_id(attr.mode)) {
		attr.mode &= ~(uint32_t)(S_ISUID | (attr.mode & S_IXGRP ? S_ISGID : 0));
		error = fathom_fwd_setattr(mount_point.client, node_handle(a->node),
					   FATHOM_FWD_SET_MODE, &attr, &a->hints);
	}
	if (!error)
		node_seen(a->node, attr.mode);
	return error;
}

/* An append is where the server says, wherever the kernel thought the end was. */
void do_write(fuse_req_t req, fuse_ino_t ino, const char *bytes, size_t size, off_t offset,
	      struct fuse_file_info *fi)
{
	struct fathom_fwd_extent extent = {(uint64_t)offset, size};
	struct iovec memory = {(void *)(uintptr_t)bytes, size};
	const struct fathom_fwd_handle *handle;
	uint64_t done = size;
	struct ask a;
	int error;

	ask_begin(&a, ino);
	ask_mixed(&a);
	opened_hold(&a, fi);
	opened_fence(&a, fi);
	handle = node_handle(a.node);
	if (fi->flags & (O_SYNC | O_DSYNC))
		a.hints.level = FATHOM_FWD_SYNCED;
	error = end_set_id(&a, req);
	if (error)
		done = 0;
	else if (fi->flags & O_APPEND)
		error = fathom_fwd_append(mount_point.client, handle, &memory, 1, &extent.offset,
					  &a.hints);
	else
		error = fathom_fwd_write(mount_point.client, handle, &memory, 1, &extent, 1, &done,
					 &a.hints);
	opened_held(&a, fi);
	if (ask_end(&a, error) && (fi->flags & O_APPEND || !done))
		fuse_reply_err(req, error);
	else
		fuse_reply_write(req, done);
}

/* Only data and holes come here. */
void do_lseek(fuse_req_t req, fuse_ino_t ino, off_t offset, int whence, struct fuse_file_info *fi)
{
	enum fathom_fwd_seek what = whence == SEEK_DATA ? FATHOM_FWD_DATA : FATHOM_FWD_HOLE;
	uint64_t place = 0;
	struct ask a;
	int error = ENXIO;

	(void)fi;
	ask_begin(&a, ino);
	if (offset >= 0)
		error = fathom_fwd_seek(mount_point.client, node_handle(a.node), (uint64_t)offset,
					what, &place, &a.hints);
	error = ask_end(&a, error);
	if (error)
		fuse_reply_err(req, error);
	else
		fuse_reply_lseek(req, (off_t)place);
}

void do_fallocate(fuse_req_t req, fuse_ino_t ino, int mode, off_t offset, off_t length,
		  struct fuse_file_info *fi)
{
	struct ask a;
	int error;

	ask_begin(&a, ino);
	ask_mixed(&a);
	opened_fence(&a, fi);
	error = fathom_fwd_allocate(mount_point.client, node_handle(a.node), (uint32_t)mode,
				    (uint64_t)offset, (uint64_t)length, &a.hints);
	fuse_reply_err(req, ask_end(&a, error));
}

/* Every write of this mount to the file reached the level. Whoever asks first hears of an error from the server; all others
 * that had the file open hear of it from us. `reports`: it is not told again. */
static void commit(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi,
		   enum fathom_fwd_level level, bool reports)
{
	struct ask a;
	int error, failed;

	ask_begin(&a, ino);
	opened_hold(&a, fi);
	opened_fence(&a, fi);
	error = fathom_fwd_commit(mount_point.client, node_handle(a.node), level, NULL, &a.hints);
	opened_held(&a, fi);
	error = ask_end(&a, error);
	failed = opened_error(&a, fi, reports);
	fuse_reply_err(req, failed ? failed : error);
}

/* One descriptor of several that an open file may have: the others are to hear of an error, too. */
void do_flush(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	opened_flush(ino, fi);
	if (mount_point.level == FATHOM_FWD_ACCEPTED && opened_writes(fi))
		commit(req, ino, fi, FATHOM_FWD_WRITTEN, false);
	else
		fuse_reply_err(req, 0); /* errors were the writes' own */
}

void do_fsync(fuse_req_t req, fuse_ino_t ino, int data_only, struct fuse_file_info *fi)
{
	(void)data_only;
	commit(req, ino, fi, FATHOM_FWD_SYNCED, true);
}

void do_release(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct ask a;

	opened_end(ino, fi);
	ask_begin(&a, ino);
	ask_end(&a, fathom_fwd_release(mount_point.client, node_handle(a.node), &a.hints));
	fuse_reply_err(req, 0); /* nobody is told */
}
