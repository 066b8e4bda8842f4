/* Attributes, owners, and what the kernel is told of a file. */
#include "attributes.h"
#include "mount.h"

/* Nothing of it is kept by the kernel: other clients change files too. */
int mount_entry(struct fuse_entry_param *entry, fuse_ino_t parent, const char *name,
		const struct fathom_fwd_handle *handle, const struct fathom_fwd_attr *attr)
{
	struct node *node = node_found(node_of(parent), name, handle);

	*entry = (struct fuse_entry_param){.attr = as_stat(attr)};
	if (!node)
		return ENOMEM;
	node_seen(node, attr->mode);
	entry->ino = node_number(node);
	return 0;
}

/* The server made it as its own user's; in a directory with set-group-ID the group is the directory's. */
int mount_own(struct ask *a, fuse_req_t req, const struct fathom_fwd_handle *created,
	      struct fathom_fwd_attr *attr)
{
	const struct fuse_ctx *who = fuse_req_ctx(req);
	struct fathom_fwd_attr parent;
	uint32_t which = attr->uid != who->uid ? FATHOM_FWD_SET_UID : 0;
	int error;

	if (attr->gid != who->gid) {
		error = fathom_fwd_getattr(mount_point.client, node_handle(a->node), &parent,
					   &a->hints);
		if (error)
			return error;
		which |= parent.mode & S_ISGID ? 0 : FATHOM_FWD_SET_GID;
	}
	if (!which)
		return 0;
	if (S_ISREG(attr->mode) && attr->mode & (S_ISUID | S_ISGID))
		which |= FATHOM_FWD_SET_MODE; /* a new owner takes these bits away */
	attr->uid = who->uid;
	attr->gid = who->gid;
	return fathom_fwd_setattr(mount_point.client, created, which, attr, &a->hints);
}

static void give_attr(fuse_req_t req, struct ask *a, const struct fathom_fwd_attr *attr, int error)
{
	struct stat about;

	error = ask_end(a, error);
	if (error) {
		fuse_reply_err(req, error);
		return;
	}
	node_seen(a->node, attr->mode);
	about = as_stat(attr);
	fuse_reply_attr(req, &about, 0);
}

void do_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct fathom_fwd_attr attr;
	struct ask a;
	int error;

	(void)fi;
	ask_begin(&a, ino);
	error = fathom_fwd_getattr(mount_point.client, node_handle(a.node), &attr, &a.hints);
	give_attr(req, &a, &attr, error);
}

static uint32_t to_change(int which)
{
	static const uint32_t bits[][2] = {
		{FUSE_SET_ATTR_MODE, FATHOM_FWD_SET_MODE},
		{FUSE_SET_ATTR_UID, FATHOM_FWD_SET_UID},
		{FUSE_SET_ATTR_GID, FATHOM_FWD_SET_GID},
		{FUSE_SET_ATTR_SIZE, FATHOM_FWD_SET_SIZE},
		{FUSE_SET_ATTR_ATIME, FATHOM_FWD_SET_ATIME},
		{FUSE_SET_ATTR_MTIME, FATHOM_FWD_SET_MTIME},
		{FUSE_SET_ATTR_ATIME_NOW, FATHOM_FWD_SET_ATIME_NOW},
		{FUSE_SET_ATTR_MTIME_NOW, FATHOM_FWD_SET_MTIME_NOW},
	};
	uint32_t change = 0;

	for (size_t i = 0; i < sizeof(bits) / sizeof(*bits); i++)
		change |= (uint32_t)which & bits[i][0] ? bits[i][1] : 0;
	/* the kernel says both; now it is the server's */
	if (change & FATHOM_FWD_SET_ATIME_NOW)
		change &= ~(uint32_t)FATHOM_FWD_SET_ATIME;
	if (change & FATHOM_FWD_SET_MTIME_NOW)
		change &= ~(uint32_t)FATHOM_FWD_SET_MTIME;
	return change;
}

static struct fathom_fwd_time time_of(struct timespec t)
{
	return (struct fathom_fwd_time){t.tv_sec, (uint32_t)t.tv_nsec};
}

void do_setattr(fuse_req_t req, fuse_ino_t ino, struct stat *wanted, int which,
		struct fuse_file_info *fi)
{
	struct fathom_fwd_attr attr = {.mode = wanted->st_mode,
				       .uid = wanted->st_uid,
				       .gid = wanted->st_gid,
				       .size = (uint64_t)wanted->st_size,
				       .atime = time_of(wanted->st_atim),
				       .mtime = time_of(wanted->st_mtim)};
	struct ask a;
	int error;

	ask_begin(&a, ino);
	ask_mixed(&a);
	opened_fence(&a, fi);
	error = fathom_fwd_setattr(mount_point.client, node_handle(a.node), to_change(which), &attr,
				   &a.hints);
	give_attr(req, &a, &attr, error);
}

void do_statfs(fuse_req_t req, fuse_ino_t ino)
{
	struct fathom_fwd_statfs got;
	struct statvfs about;
	struct ask a;
	int error;

	ask_begin(&a, ino);
	error = fathom_fwd_statfs(mount_point.client, node_handle(a.node), &got, &a.hints);
	if (ask_end(&a, error)) {
		fuse_reply_err(req, error);
		return;
	}
	about = as_statvfs(&got);
	fuse_reply_statfs(req, &about);
}
