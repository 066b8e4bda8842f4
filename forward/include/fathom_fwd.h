/* fathom_fwd.h: files of a forwarding server, in the manner of ZOIDFS (docs/forwarding-api.md).
 *
 *	struct fathom_fwd *fwd;
 *	struct fathom_fwd_handle file;
 *	struct iovec memory = {text, length};
 *	uint64_t where;
 *
 *	if (fathom_fwd_init(&fwd, "unix:/run/user/1000/fwd.sock", NULL, NULL))
 *		...
 *	fathom_fwd_open(fwd, NULL, "log", FATHOM_FWD_CREATE | FATHOM_FWD_WRITE, 0644, &file, NULL, NULL);
 *	fathom_fwd_append(fwd, &file, &memory, 1, &where, NULL);
 *	fathom_fwd_commit(fwd, &file, FATHOM_FWD_SYNCED, NULL, NULL);
 *	fathom_fwd_release(fwd, &file, NULL);
 *	fathom_fwd_finalize(fwd);
 *
 * Every function returns 0 or an errno value, leaves errno as it was, raises no signal and returns by its
 * deadline. Offsets and lengths are bytes, times since 1970 UTC, durations ms. A directory is a handle, NULL
 * the exported root; a path is relative to it and never leads out of the root (EXDEV).
 *
 * Errors of each: ETIMEDOUT: no answer by the deadline, and whether it was done is unknown; ESTALE: the server
 * no longer knows the handle, look the path up again; ESHUTDOWN: the server is ending; EPROTO: it speaks
 * otherwise than docs/forwarding-protocol.md; ENOMEM; those of the server's own call. `hints->error` has the rest.
 *
 * A client may be used by many threads at once: one connection, requests in flight together. After fork the
 * child's first call opens a connection of the child's own; requests posted before belong to the parent. */
#ifndef FATHOM_FWD_H
#define FATHOM_FWD_H

#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FATHOM_FWD_API __attribute__((visibility("default")))

struct fathom_fwd;         /* a client of one server */
struct fathom_fwd_request; /* posted, not yet waited for */

/* The same bytes exactly if the file is the same; may be sent to other clients of the server. */
struct fathom_fwd_handle {
	uint8_t bytes[32];
};

struct fathom_fwd_time {
	int64_t seconds;
	uint32_t nanoseconds;
};

struct fathom_fwd_attr {
	uint32_t mode; /* st_mode */
	uint32_t nlink;
	uint32_t uid;
	uint32_t gid;
	uint32_t blksize;
	uint64_t rdev;
	uint64_t dev;
	uint64_t ino;
	uint64_t size;
	uint64_t blocks; /* of 512 bytes */
	struct fathom_fwd_time atime, mtime, ctime;
	struct fathom_fwd_time birth; /* zeros: unknown */
};

struct fathom_fwd_statfs {
	uint64_t bsize, frsize, blocks, bfree, bavail, files, ffree;
	uint32_t namemax;
};

struct fathom_fwd_extent {
	uint64_t offset;
	uint64_t length;
};

struct fathom_fwd_entry {
	uint64_t cookie; /* where the next one begins */
	uint64_t ino;
	uint8_t type;     /* DT_* of <dirent.h> */
	const char *name; /* valid during the call of the visitor */
};

/* A range that was promised and not written; `code` is why, an errno. */
struct fathom_fwd_failed {
	struct fathom_fwd_handle handle;
	uint64_t seq; /* of the write */
	uint64_t offset, length;
	int code;
};

/* Reserved by an append and not wholly written, or left for alignment (code 0). */
struct fathom_fwd_gap {
	uint64_t offset, length;
	uint64_t client, seq; /* who had it */
	int code;
};

struct fathom_fwd_error {
	int code;                /* errno; 0: no error */
	uint32_t status;         /* of the protocol: 0, an errno, 1001 and more */
	uint64_t offset, length; /* the range that failed; zeros: none */
	char server[128];        /* its address */
	char what[512];          /* for people: what failed, on which file, why, what to do */
};

/* Keys: FWD_HINT_* of docs/forwarding-protocol.md. */
struct fathom_fwd_hint {
	uint16_t key;
	uint16_t length; /* at most 1024 */
	const void *value;
};

enum fathom_fwd_hint_key {
	FATHOM_FWD_APPEND_SHARED = 3, /* no value: appends and writes beyond the end may be mixed */
	FATHOM_FWD_APPEND_ALIGN = 4,  /* 4 bytes, little-endian: the offset is a multiple of it */
	FATHOM_FWD_DROP_IO = 5,       /* no value: data is taken and dropped */
	FATHOM_FWD_STRIPING = 12,     /* struct fathom_fwd_striping, of an open that makes a file */
	FATHOM_FWD_READ_NOATIME = 20, /* no value: the read does not change the time of reading */
};

#define FATHOM_FWD_ANY_SERVER UINT32_MAX

/* Where servers stripe. What cannot be is made what comes nearest; zeros and ANY_SERVER: as the server does it. */
struct fathom_fwd_striping {
	uint64_t size;    /* bytes of a stripe */
	uint32_t servers; /* so many */
	uint32_t first;   /* from this one of the servers' list on, numbered from 0 */
};

enum fathom_fwd_level {                          /* that written data has reached */
			FATHOM_FWD_ACCEPTED = 1, /* in the server's memory */
			FATHOM_FWD_WRITTEN = 2,  /* in its operating system's */
			FATHOM_FWD_SYNCED = 3,   /* on the store */
};

/* Where a file is found again by a server that was started anew. */
struct fathom_fwd_path {
	const struct fathom_fwd_handle *handle;
	const char *path; /* from the exported root */
};

enum fathom_fwd_locked_by {
	FATHOM_FWD_BY_CLIENT = 1,
	FATHOM_FWD_BY_SESSION = 2, /* a session, on the same server */
};

/* The last argument of every call: what is wished in, how it went out. NULL: nothing of it. Zeros: the usual. */
struct fathom_fwd_hints {
	uint32_t timeout; /* ms until the call returns; 0: the client's */
	uint8_t level;    /* write, append: reached before it returns; 0: FATHOM_FWD_WRITTEN */
	/* fathom_fwd_locked_by: the caller may have locks on the file. If the server lost them the call fails with EIO, until
	 * lock or unlock has told the owner. Of read, write, append, commit, resize. */
	uint8_t locked;
	uint16_t count; /* of hints */
	const struct fathom_fwd_hint *hint;
	const char *file; /* name of the file in messages; NULL: its handle */
	/* Of the call's files, those of which the server is told where they are when it does not know them: then the call is
	 * not ESTALE, and done once. Blocking calls only. */
	const struct fathom_fwd_path *path;
	uint16_t paths;
	/* Whose locks they may be; NULL: any owner's of this client. Blocking calls only. */
	const uint64_t *owner;
	uint16_t owners;
	uint64_t
		call_stream; /* the traced call that this serves; 0: the caller's, where Fathom traces it */
	uint64_t call_seq;
	uint8_t reached; /* out: level of a write or append */
	uint8_t by_path; /* out, of read, write, append, commit: by its path; the file is held now */
	struct fathom_fwd_error error; /* out, when the call did not return 0 */
};

struct fathom_fwd_options {
	const char *token_file; /* TCP: a 0600 file whose first line is the server's token */
	const char *name;  /* for people, in the server's status; NULL: program, host and pid */
	uint32_t timeout;  /* ms, of each call; 0: the server's default */
	uint32_t connect;  /* ms, of fathom_fwd_init; 0: 10,000 */
	uint32_t checksum; /* 1: a CRC-32C of all that is sent */
	uint32_t compress; /* 1: data goes compressed where that is shorter, if the server agrees */
	uint32_t lowest; /* the client's descriptors are numbered from here on, if there is room */
	const char *
		munge; /* TCP: be known by munge, where the server takes it: munged's socket, "": the usual */
};

enum fathom_fwd_open_flags {
	FATHOM_FWD_CREATE = 1,
	FATHOM_FWD_EXCLUSIVE = 2,
	FATHOM_FWD_TRUNCATE = 4,
	FATHOM_FWD_NOFOLLOW = 8,
	FATHOM_FWD_DIRECTORY = 16,
	FATHOM_FWD_READ = 32,
	FATHOM_FWD_WRITE = 64,
	FATHOM_FWD_TMPFILE = 128, /* a file without a name, in that directory */
	FATHOM_FWD_NOATIME = 256, /* with hint FATHOM_FWD_READ_NOATIME; EPERM: not the owner's */
};

enum fathom_fwd_seek {
	FATHOM_FWD_DATA = 0,
	FATHOM_FWD_HOLE = 1,
};

enum fathom_fwd_allocate { /* as fallocate has them */
			   FATHOM_FWD_KEEP_SIZE = 1,
			   FATHOM_FWD_PUNCH_HOLE = 2,
			   FATHOM_FWD_ZERO_RANGE = 16,
};

enum fathom_fwd_xattr {
	FATHOM_FWD_XATTR_CREATE = 1,
	FATHOM_FWD_XATTR_REPLACE = 2,
};

enum fathom_fwd_set { /* what setattr changes */
		      FATHOM_FWD_SET_MODE = 1,
		      FATHOM_FWD_SET_UID = 2,
		      FATHOM_FWD_SET_GID = 4,
		      FATHOM_FWD_SET_SIZE = 8,
		      FATHOM_FWD_SET_ATIME = 16,
		      FATHOM_FWD_SET_MTIME = 32,
		      FATHOM_FWD_SET_ATIME_NOW = 64,
		      FATHOM_FWD_SET_MTIME_NOW = 128,
};

enum fathom_fwd_rename_flags {
	FATHOM_FWD_NOREPLACE = 1,
	FATHOM_FWD_EXCHANGE = 2,
};

/* Connects to `server`: unix:PATH, tcp:HOST:PORT or ofi:HOST:PORT. EINVAL: another address; EACCES: another user's server,
 * a wrong token, a token file that others may read; ECONNREFUSED, ENOENT: nobody listens. `error` may be NULL. */
FATHOM_FWD_API int fathom_fwd_init(struct fathom_fwd **client, const char *server,
				   const struct fathom_fwd_options *options,
				   struct fathom_fwd_error *error);
/* Closes the connection and frees the client; no other thread may be in a call of it. Requests that were
 * posted and not waited for are freed too, their outcome unknown. NULL does nothing. */
FATHOM_FWD_API void fathom_fwd_finalize(struct fathom_fwd *client);

/* Is the server there. */
FATHOM_FWD_API int fathom_fwd_ping(struct fathom_fwd *client, struct fathom_fwd_hints *hints);
/* The server's counters as JSON, terminated; ENOBUFS: more than `size`, cut. */
FATHOM_FWD_API int fathom_fwd_status(struct fathom_fwd *client, char *json, size_t size,
				     struct fathom_fwd_hints *hints);

/* ---- names. `attr` of any call may be NULL ---- */

/* flags: 0 or FATHOM_FWD_NOFOLLOW. An empty path is the directory itself. */
FATHOM_FWD_API int fathom_fwd_lookup(struct fathom_fwd *client, const struct fathom_fwd_handle *dir,
				     const char *path, uint32_t flags,
				     struct fathom_fwd_handle *handle, struct fathom_fwd_attr *attr,
				     struct fathom_fwd_hints *hints);
/* enum fathom_fwd_open_flags. An empty path is the file `dir` itself. The file is held, even if unlinked,
 * until it was released as often as opened. */
FATHOM_FWD_API int fathom_fwd_open(struct fathom_fwd *client, const struct fathom_fwd_handle *dir,
				   const char *path, uint32_t flags, uint32_t mode,
				   struct fathom_fwd_handle *handle, struct fathom_fwd_attr *attr,
				   struct fathom_fwd_hints *hints);
FATHOM_FWD_API int fathom_fwd_release(struct fathom_fwd *client,
				      const struct fathom_fwd_handle *handle,
				      struct fathom_fwd_hints *hints);
/* Makes a regular file and does not hold it; EEXIST. */
FATHOM_FWD_API int fathom_fwd_create(struct fathom_fwd *client, const struct fathom_fwd_handle *dir,
				     const char *path, uint32_t mode,
				     struct fathom_fwd_handle *handle, struct fathom_fwd_attr *attr,
				     struct fathom_fwd_hints *hints);
/* flags: 0, or FATHOM_FWD_DIRECTORY for an empty directory. */
FATHOM_FWD_API int fathom_fwd_remove(struct fathom_fwd *client, const struct fathom_fwd_handle *dir,
				     const char *path, uint32_t flags,
				     struct fathom_fwd_hints *hints);
/* flags: 0 or one of enum fathom_fwd_rename_flags. */
FATHOM_FWD_API int fathom_fwd_rename(struct fathom_fwd *client, const struct fathom_fwd_handle *dir,
				     const char *path, const struct fathom_fwd_handle *to_dir,
				     const char *to_path, uint32_t flags,
				     struct fathom_fwd_hints *hints);
FATHOM_FWD_API int fathom_fwd_link(struct fathom_fwd *client, const struct fathom_fwd_handle *file,
				   const struct fathom_fwd_handle *dir, const char *path,
				   struct fathom_fwd_attr *attr, struct fathom_fwd_hints *hints);
FATHOM_FWD_API int fathom_fwd_symlink(struct fathom_fwd *client,
				      const struct fathom_fwd_handle *dir, const char *path,
				      const char *target, struct fathom_fwd_handle *handle,
				      struct fathom_fwd_attr *attr, struct fathom_fwd_hints *hints);
/* Terminated; ENAMETOOLONG: more than `size`, cut. */
FATHOM_FWD_API int fathom_fwd_readlink(struct fathom_fwd *client,
				       const struct fathom_fwd_handle *handle, char *target,
				       size_t size, struct fathom_fwd_hints *hints);
FATHOM_FWD_API int fathom_fwd_mkdir(struct fathom_fwd *client, const struct fathom_fwd_handle *dir,
				    const char *path, uint32_t mode,
				    struct fathom_fwd_handle *handle, struct fathom_fwd_attr *attr,
				    struct fathom_fwd_hints *hints);
/* A FIFO, a socket's name or a device (`rdev`), by the type in `mode`. */
FATHOM_FWD_API int fathom_fwd_mknod(struct fathom_fwd *client, const struct fathom_fwd_handle *dir,
				    const char *path, uint32_t mode, uint64_t rdev,
				    struct fathom_fwd_handle *handle, struct fathom_fwd_attr *attr,
				    struct fathom_fwd_hints *hints);
/* Calls `visit` for each entry from `cookie` (0: the first) on; it returns 0 to go on, else that ends the
 * listing and is returned. `visit` must not call the client. */
FATHOM_FWD_API int
fathom_fwd_readdir(struct fathom_fwd *client, const struct fathom_fwd_handle *dir, uint64_t cookie,
		   int (*visit)(void *with, const struct fathom_fwd_entry *entry), void *with,
		   struct fathom_fwd_hints *hints);

/* ---- attributes ---- */

FATHOM_FWD_API int fathom_fwd_getattr(struct fathom_fwd *client,
				      const struct fathom_fwd_handle *handle,
				      struct fathom_fwd_attr *attr, struct fathom_fwd_hints *hints);
/* which: enum fathom_fwd_set, taken from `attr`, which is then what the file has. */
FATHOM_FWD_API int fathom_fwd_setattr(struct fathom_fwd *client,
				      const struct fathom_fwd_handle *handle, uint32_t which,
				      struct fathom_fwd_attr *attr, struct fathom_fwd_hints *hints);
/* EBUSY: the file is being appended to (hint FATHOM_FWD_APPEND_SHARED). */
FATHOM_FWD_API int fathom_fwd_resize(struct fathom_fwd *client,
				     const struct fathom_fwd_handle *handle, uint64_t size,
				     struct fathom_fwd_hints *hints);
/* Where the next data, or hole, is from `offset` on. ENXIO: the offset is beyond the end, or no data follows. */
FATHOM_FWD_API int fathom_fwd_seek(struct fathom_fwd *client,
				   const struct fathom_fwd_handle *handle, uint64_t offset,
				   enum fathom_fwd_seek what, uint64_t *place,
				   struct fathom_fwd_hints *hints);
/* mode: enum fathom_fwd_allocate. Space is set aside, given back or zeroed, as by fallocate. EOPNOTSUPP: the store cannot, or
 * it is a mode that shifts bytes, which could not be done just once. EBUSY: as of resize. */
FATHOM_FWD_API int fathom_fwd_allocate(struct fathom_fwd *client,
				       const struct fathom_fwd_handle *handle, uint32_t mode,
				       uint64_t offset, uint64_t length,
				       struct fathom_fwd_hints *hints);
/* Extended attributes, as the server's file system has them. `room` 0 asks for the length only; ERANGE: too little room;
 * ENODATA: there is none of that name; EOPNOTSUPP: the store has none. flags: 0 or one of enum fathom_fwd_xattr. */
FATHOM_FWD_API int fathom_fwd_getxattr(struct fathom_fwd *client,
				       const struct fathom_fwd_handle *handle, const char *name,
				       void *value, size_t room, size_t *length,
				       struct fathom_fwd_hints *hints);
FATHOM_FWD_API int fathom_fwd_setxattr(struct fathom_fwd *client,
				       const struct fathom_fwd_handle *handle, const char *name,
				       const void *value, size_t length, uint32_t flags,
				       struct fathom_fwd_hints *hints);
/* Names, with a zero behind each. */
FATHOM_FWD_API int fathom_fwd_listxattr(struct fathom_fwd *client,
					const struct fathom_fwd_handle *handle, char *names,
					size_t room, size_t *length,
					struct fathom_fwd_hints *hints);
FATHOM_FWD_API int fathom_fwd_removexattr(struct fathom_fwd *client,
					  const struct fathom_fwd_handle *handle, const char *name,
					  struct fathom_fwd_hints *hints);
FATHOM_FWD_API int fathom_fwd_statfs(struct fathom_fwd *client,
				     const struct fathom_fwd_handle *handle,
				     struct fathom_fwd_statfs *statfs,
				     struct fathom_fwd_hints *hints);

/* ---- data. The memory vector and the file vector cover the same number of bytes, each in its own pieces;
 * else EINVAL. More than the server takes at once is done in several requests, which others may see apart. ---- */

/* `done`: bytes read, less than asked only where extents lie beyond the end of file; that part of the memory
 * is left or overwritten. */
FATHOM_FWD_API int fathom_fwd_read(struct fathom_fwd *client,
				   const struct fathom_fwd_handle *handle,
				   const struct iovec *memory, uint32_t memories,
				   const struct fathom_fwd_extent *extents, uint32_t n,
				   uint64_t *done, struct fathom_fwd_hints *hints);
/* `done`: bytes written before an error. hints->level: FATHOM_FWD_ACCEPTED returns once the server has the
 * data, and an error comes with commit. EBUSY: as of resize. */
FATHOM_FWD_API int fathom_fwd_write(struct fathom_fwd *client,
				    const struct fathom_fwd_handle *handle,
				    const struct iovec *memory, uint32_t memories,
				    const struct fathom_fwd_extent *extents, uint32_t n,
				    uint64_t *done, struct fathom_fwd_hints *hints);
/* One record at the end of the file: contiguous, never overlapped; its final offset in `offset`. EMSGSIZE:
 * longer than the server takes at once (64 MiB). Records of a client lie in the order of its calls. */
FATHOM_FWD_API int fathom_fwd_append(struct fathom_fwd *client,
				     const struct fathom_fwd_handle *handle,
				     const struct iovec *memory, uint32_t memories,
				     uint64_t *offset, struct fathom_fwd_hints *hints);

/* What commit found; `failed` has room for `room` ranges. */
struct fathom_fwd_commit {
	struct fathom_fwd_failed *failed;
	uint32_t room;
	uint32_t n; /* out: ranges that failed; those over `room` are counted only */
};

/* Waits until this client's writes of the file (NULL: of all files) reached `level`, WRITTEN or SYNCED. Every
 * range that failed is told, once. Returns the first one's errno, also when `result` is NULL. */
FATHOM_FWD_API int fathom_fwd_commit(struct fathom_fwd *client,
				     const struct fathom_fwd_handle *handle,
				     enum fathom_fwd_level level, struct fathom_fwd_commit *result,
				     struct fathom_fwd_hints *hints);
/* Errors that commit found come to all that use the client: a mark says which of them an open file has been told of. */
FATHOM_FWD_API uint64_t fathom_fwd_errors(struct fathom_fwd *client);
/* The file's last error since the mark, which becomes that of now; 0: there was none. */
FATHOM_FWD_API int fathom_fwd_error_since(struct fathom_fwd *client,
					  const struct fathom_fwd_handle *handle, uint64_t *mark);
/* Another number each time that the server was started anew: it holds none of the files that were opened before. */
FATHOM_FWD_API uint64_t fathom_fwd_epoch(struct fathom_fwd *client);
/* Up to `room` gaps of the file from offset `from` on; `n`: how many were set. */
FATHOM_FWD_API int fathom_fwd_gaps(struct fathom_fwd *client,
				   const struct fathom_fwd_handle *handle, uint64_t from,
				   struct fathom_fwd_gap *gaps, uint32_t room, uint32_t *n,
				   struct fathom_fwd_hints *hints);

/* ---- locks, which hold up only who asks for them. Kept by the server, for clients on all machines ---- */

enum fathom_fwd_lock_mode {
	FATHOM_FWD_LOCK_NONE = 0,
	FATHOM_FWD_LOCK_SHARED = 1,
	FATHOM_FWD_LOCK_EXCLUSIVE = 2,
};

enum fathom_fwd_lock_flags {
	FATHOM_FWD_LOCK_WAIT = 1,  /* until it is free, or the time is over: EAGAIN */
	FATHOM_FWD_LOCK_WHOLE = 2, /* of the file, as flock; apart from locks of ranges, as fcntl */
	FATHOM_FWD_LOCK_PROCESS = 4, /* the owner waits for nothing else: EDEADLK for circles */
};

struct fathom_fwd_lock {
	uint64_t session; /* 0: it ends with this client; else with that session */
	uint64_t owner;   /* any number: locks of one owner are not in each other's way */
	uint32_t flags;
	uint8_t mode;
	uint32_t pid;           /* whose, for others to read */
	uint64_t start, length; /* 0: to the end of all files */
};

/* The range is the owner's in that mode, whatever it had there. EAGAIN: others have some of it. ENOLCK: there are too many,
 * the session has ended, or (once) the owner's locks were lost, as the server was started anew. ETIMEDOUT: unknown; unlock. */
FATHOM_FWD_API int fathom_fwd_lock(struct fathom_fwd *client,
				   const struct fathom_fwd_handle *handle,
				   const struct fathom_fwd_lock *lock,
				   struct fathom_fwd_hints *hints);
/* The range is the owner's no more; it need not have been. ENOLCK: as of lock. */
FATHOM_FWD_API int fathom_fwd_unlock(struct fathom_fwd *client,
				     const struct fathom_fwd_handle *handle,
				     const struct fathom_fwd_lock *lock,
				     struct fathom_fwd_hints *hints);
/* `lock` becomes one that is in its way, or has mode FATHOM_FWD_LOCK_NONE. */
FATHOM_FWD_API int fathom_fwd_locked(struct fathom_fwd *client,
				     const struct fathom_fwd_handle *handle,
				     struct fathom_fwd_lock *lock, struct fathom_fwd_hints *hints);
/* 1: the owner has or had locks of that kind on the file, and has not unlocked all of them. Asks nobody. */
FATHOM_FWD_API int fathom_fwd_has_locks(struct fathom_fwd *client,
					const struct fathom_fwd_handle *handle,
					const struct fathom_fwd_lock *lock);
/* A session lasts as long as any process has its descriptor open: by fork, as an open file does. */
FATHOM_FWD_API int fathom_fwd_session(struct fathom_fwd *client, uint64_t *session, int *fd);

/* ---- operations that plug-ins of the server offer (fathom_fwd_plugin.h), so that data need not travel ---- */

/* Has the server do `name`: `given` (NULL: nothing) is what the operation is given, `reply` has `room` bytes for its answer,
 * `length` of them are set. `file`: what it is about, NULL: no file; of a file it sees all that this client wrote before.
 * ENOSYS: no plug-in has it, and hints->error.what says what there is; EMSGSIZE: more than 65,536 bytes are given;
 * errors of the operation's own. */
FATHOM_FWD_API int fathom_fwd_call(struct fathom_fwd *client, const char *name,
				   const struct fathom_fwd_handle *file, const struct iovec *given,
				   void *reply, size_t room, size_t *length,
				   struct fathom_fwd_hints *hints);

/* ---- non-blocking. A post returns once the request is queued, or waits while the server's window (64 requests) is full;
 * memory must stay as it is until the request was waited for. Data moves while any thread is in any call of the
 * client. One post is one request: EMSGSIZE where it is more than the server takes at once. ---- */

FATHOM_FWD_API int fathom_fwd_post_read(struct fathom_fwd *client,
					const struct fathom_fwd_handle *handle,
					const struct iovec *memory, uint32_t memories,
					const struct fathom_fwd_extent *extents, uint32_t n,
					struct fathom_fwd_request **request,
					struct fathom_fwd_hints *hints);
FATHOM_FWD_API int fathom_fwd_post_write(struct fathom_fwd *client,
					 const struct fathom_fwd_handle *handle,
					 const struct iovec *memory, uint32_t memories,
					 const struct fathom_fwd_extent *extents, uint32_t n,
					 struct fathom_fwd_request **request,
					 struct fathom_fwd_hints *hints);
FATHOM_FWD_API int fathom_fwd_post_append(struct fathom_fwd *client,
					  const struct fathom_fwd_handle *handle,
					  const struct iovec *memory, uint32_t memories,
					  struct fathom_fwd_request **request,
					  struct fathom_fwd_hints *hints);

/* `number`: bytes of a read or write, offset of an append. */
struct fathom_fwd_result {
	uint64_t number;
	uint8_t reached; /* enum fathom_fwd_level */
};

/* Waits until the request is answered or its deadline passed, returns how it went and frees it. */
FATHOM_FWD_API int fathom_fwd_wait(struct fathom_fwd *client, struct fathom_fwd_request *request,
				   struct fathom_fwd_result *result,
				   struct fathom_fwd_hints *hints);
/* Does not wait: `done` is 1 if it is answered, and then it is as fathom_fwd_wait; else 0, and the request stays. */
FATHOM_FWD_API int fathom_fwd_test(struct fathom_fwd *client, struct fathom_fwd_request *request,
				   int *done, struct fathom_fwd_result *result,
				   struct fathom_fwd_hints *hints);

#ifdef __cplusplus
}
#endif

#endif
