/* The FUSE skin: what its files share. A node is a file that the kernel knows; its number is the node's address. */
#ifndef FATHOM_MOUNT_H
#define FATHOM_MOUNT_H

#define FUSE_USE_VERSION 312

#include <errno.h>
#include <fuse_lowlevel.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "fathom_fwd.h"

struct mount {
	struct fathom_fwd *client;
	uint32_t timeout;    /* ms of a call; 0: the server's default */
	uint8_t level;       /* that a write reaches before it returns */
	_Atomic bool silent; /* the last call had no answer in time */
	/* second of the last line about trouble, by the clock that never goes back */
	_Atomic int64_t last_complaint;
};

extern struct mount mount_point;

/* ---- nodes.c ---- */

struct node;

/* The node of a file that was found by name in `parent`, known to the kernel once more; NULL: no memory. */
struct node *node_found(struct node *parent, const char *name,
			const struct fathom_fwd_handle *handle);
/* The kernel knows it `times` less. */
void node_forget(struct node *node, uint64_t times);
/* A mode that a write by another than root changes. */
bool takes_set_id(mode_t mode);
/* What the file's mode is. */
void node_seen(struct node *node, mode_t mode);
/* It was one of those, when it was last seen. */
bool node_set_id(const struct node *node);
struct node *node_of(fuse_ino_t number);
fuse_ino_t node_number(const struct node *node);
const struct fathom_fwd_handle *node_handle(const struct node *node);
/* From the exported root, as it was last found. */
void node_path(const struct node *node, char path[PATH_MAX]);

/* ---- ask.c: one call of the client ---- */

enum { OWNERS = 16 /* of an open file's locks, that a call looks after; the last ones */ };

struct ask {
	struct node *node;
	char path[PATH_MAX];  /* of the file, as it was last found, from the exported root */
	char other[PATH_MAX]; /* of another file that the call is about */
	struct fathom_fwd_path at[2];
	uint64_t owner[OWNERS]; /* of locks on the file */
	struct fathom_fwd_hints hints;
};

void ask_begin(struct ask *a, fuse_ino_t number);
/* The call is about this file, too. */
void ask_also(struct ask *a, fuse_ino_t other);
/* Appends and other changes of a file's end may be mixed, as on a file system. */
void ask_mixed(struct ask *a);
/* `error`, after what a user should read of it was said. */
int ask_end(struct ask *a, int error);

/* ---- the operations, by subject ---- */

extern const struct fuse_lowlevel_ops mount_operations;

/* Gives a file that was made for the caller to the caller. 0 or an errno. */
int mount_own(struct ask *a, fuse_req_t req, const struct fathom_fwd_handle *created,
	      struct fathom_fwd_attr *attr);
/* What the kernel is told of a file in `parent`; 0 or an errno. */
int mount_entry(struct fuse_entry_param *entry, fuse_ino_t parent, const char *name,
		const struct fathom_fwd_handle *handle, const struct fathom_fwd_attr *attr);

void do_lookup(fuse_req_t req, fuse_ino_t parent, const char *name);
void do_forget(fuse_req_t req, fuse_ino_t ino, uint64_t times);
void do_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void do_setattr(fuse_req_t req, fuse_ino_t ino, struct stat *wanted, int which,
		struct fuse_file_info *fi);
void do_readlink(fuse_req_t req, fuse_ino_t ino);
void do_mknod(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode, dev_t device);
void do_mkdir(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode);
void do_unlink(fuse_req_t req, fuse_ino_t parent, const char *name);
void do_rmdir(fuse_req_t req, fuse_ino_t parent, const char *name);
void do_symlink(fuse_req_t req, const char *target, fuse_ino_t parent, const char *name);
void do_rename(fuse_req_t req, fuse_ino_t parent, const char *name, fuse_ino_t to,
	       const char *to_name, unsigned int flags);
void do_link(fuse_req_t req, fuse_ino_t ino, fuse_ino_t parent, const char *name);
void do_statfs(fuse_req_t req, fuse_ino_t ino);

void do_create(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode,
	       struct fuse_file_info *fi);
void do_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void do_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset, struct fuse_file_info *fi);
void do_write(fuse_req_t req, fuse_ino_t ino, const char *bytes, size_t size, off_t offset,
	      struct fuse_file_info *fi);
void do_flush(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void do_fsync(fuse_req_t req, fuse_ino_t ino, int data_only, struct fuse_file_info *fi);
void do_release(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);

void do_lseek(fuse_req_t req, fuse_ino_t ino, off_t offset, int whence, struct fuse_file_info *fi);
void do_fallocate(fuse_req_t req, fuse_ino_t ino, int mode, off_t offset, off_t length,
		  struct fuse_file_info *fi);

void do_getxattr(fuse_req_t req, fuse_ino_t ino, const char *name, size_t room);
void do_setxattr(fuse_req_t req, fuse_ino_t ino, const char *name, const char *value, size_t length,
		 int flags);
void do_listxattr(fuse_req_t req, fuse_ino_t ino, size_t room);
void do_removexattr(fuse_req_t req, fuse_ino_t ino, const char *name);

void do_opendir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void do_readdir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t from, struct fuse_file_info *fi);
void do_releasedir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);

/* ---- locks.c ---- */

/* An open file, in fi->fh: who has locks by it. */
struct opened;
struct opened *opened_new(int flags);
/* Before its data is read or written: it is held by the server of now. */
void opened_hold(struct ask *a, const struct fuse_file_info *fi);
/* The call fails if locks are lost that were made by it. */
void opened_fence(struct ask *a, const struct fuse_file_info *fi);
/* After it: whether the server found the file again, and so holds it. */
void opened_held(const struct ask *a, const struct fuse_file_info *fi);
/* It was opened for writing. */
bool opened_writes(const struct fuse_file_info *fi);
/* The file's error that this open file was not told of; `reports`: it is not told again. 0: none. */
int opened_error(const struct ask *a, const struct fuse_file_info *fi, bool reports);
/* The kernel closes it: what it locked as an open file (OFD, flock) is locked no more. */
void opened_end(fuse_ino_t ino, struct fuse_file_info *fi);
/* A process has closed it: its locks on the file end. */
void opened_flush(fuse_ino_t ino, struct fuse_file_info *fi);
/* No lock is waited for any more. */
void locks_end(void);

void do_getlk(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi, struct flock *lock);
void do_setlk(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi, struct flock *lock,
	      int wait);
void do_flock(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi, int operation);

#endif
