/* Names: found, made, removed, moved. */
#include <sys/stat.h>

#include "mount.h"

/* Tells the kernel of the file that a call found or made. */
static void give_entry(fuse_req_t req, struct ask *a, const char *name,
		       const struct fathom_fwd_handle *handle, const struct fathom_fwd_attr *attr,
		       int error)
{
	struct fuse_entry_param entry;

	if (!error)
		error = mount_entry(&entry, node_number(a->node), name, handle, attr);
	if (error)
		fuse_reply_err(req, error);
	else
		fuse_reply_entry(req, &entry);
}

void do_lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct fathom_fwd_handle handle;
	struct fathom_fwd_attr attr;
	struct ask a;
	int error;

	ask_begin(&a, parent);
	error = fathom_fwd_lookup(mount_point.client, node_handle(a.node), name,
				  FATHOM_FWD_NOFOLLOW, &handle, &attr, &a.hints);
	give_entry(req, &a, name, &handle, &attr, ask_end(&a, error));
}

void do_forget(fuse_req_t req, fuse_ino_t ino, uint64_t times)
{
	node_forget(node_of(ino), times);
	fuse_reply_none(req);
}

/* What was made becomes the caller's, or goes again. */
static void give_created(fuse_req_t req, struct ask *a, const char *name,
			 const struct fathom_fwd_handle *created, struct fathom_fwd_attr *attr,
			 int error)
{
	if (!error) {
		error = mount_own(a, req, created, attr);
		if (error)
			fathom_fwd_remove(mount_point.client, node_handle(a->node), name,
					  S_ISDIR(attr->mode) ? FATHOM_FWD_DIRECTORY : 0, NULL);
	}
	give_entry(req, a, name, created, attr, ask_end(a, error));
}

void do_mknod(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode, dev_t device)
{
	struct fathom_fwd_handle created;
	struct fathom_fwd_attr attr;
	struct ask a;
	int error;

	ask_begin(&a, parent);
	error = S_ISREG(mode) ? fathom_fwd_create(mount_point.client, node_handle(a.node), name,
						  mode, &created, &attr, &a.hints)
			      : fathom_fwd_mknod(mount_point.client, node_handle(a.node), name,
						 mode, device, &created, &attr, &a.hints);
	give_created(req, &a, name, &created, &attr, error);
}

void do_mkdir(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode)
{
	struct fathom_fwd_handle created;
	struct fathom_fwd_attr attr;
	struct ask a;
	int error;

	ask_begin(&a, parent);
	error = fathom_fwd_mkdir(mount_point.client, node_handle(a.node), name, mode, &created,
				 &attr, &a.hints);
	give_created(req, &a, name, &created, &attr, error);
}

void do_symlink(fuse_req_t req, const char *target, fuse_ino_t parent, const char *name)
{
	struct fathom_fwd_handle created;
	struct fathom_fwd_attr attr;
	struct ask a;
	int error;

	ask_begin(&a, parent);
	error = fathom_fwd_symlink(mount_point.client, node_handle(a.node), name, target, &created,
				   &attr, &a.hints);
	give_created(req, &a, name, &created, &attr, error);
}

static void remove_name(fuse_req_t req, fuse_ino_t parent, const char *name, uint32_t flags)
{
	struct ask a;
	int error;

	ask_begin(&a, parent);
	error = fathom_fwd_remove(mount_point.client, node_handle(a.node), name, flags, &a.hints);
	fuse_reply_err(req, ask_end(&a, error));
}

void do_unlink(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	remove_name(req, parent, name, 0);
}

void do_rmdir(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	remove_name(req, parent, name, FATHOM_FWD_DIRECTORY);
}

/* The kernel's flags are the protocol's; RENAME_WHITEOUT is refused by the server (EINVAL). */
void do_rename(fuse_req_t req, fuse_ino_t parent, const char *name, fuse_ino_t to,
	       const char *to_name, unsigned int flags)
{
	struct ask a;
	int error;

	ask_begin(&a, parent);
	ask_also(&a, to);
	error = fathom_fwd_rename(mount_point.client, node_handle(a.node), name,
				  node_handle(node_of(to)), to_name, flags, &a.hints);
	fuse_reply_err(req, ask_end(&a, error));
}

void do_link(fuse_req_t req, fuse_ino_t ino, fuse_ino_t parent, const char *name)
{
	const struct fathom_fwd_handle *file = node_handle(node_of(ino));
	struct fathom_fwd_attr attr;
	struct ask a;
	int error;

	ask_begin(&a, parent);
	ask_also(&a, ino);
	error = fathom_fwd_link(mount_point.client, file, node_handle(a.node), name, &attr,
				&a.hints);
	give_entry(req, &a, name, file, &attr, ask_end(&a, error));
}

void do_readlink(fuse_req_t req, fuse_ino_t ino)
{
	char target[PATH_MAX];
	struct ask a;
	int error;

	ask_begin(&a, ino);
	error = fathom_fwd_readlink(mount_point.client, node_handle(a.node), target, sizeof(target),
				    &a.hints);
	if (ask_end(&a, error))
		fuse_reply_err(req, error);
	else
		fuse_reply_readlink(req, target);
}
