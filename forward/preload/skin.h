/* The preload skin of forwarding: calls on files below a prefix go to a forwarding server (docs/forwarding-preload.md).
 *
 * Each forwarded open file has a placeholder, a real descriptor of a small memory file that was opened O_PATH: the
 * kernel gives it a number, hands it on by dup, fork and exec, and refuses every read or write that misses us. The
 * memory holds what the descriptors share wherever they went: the position, the flags, the server's handle. */
#ifndef FATHOM_SKIN_H
#define FATHOM_SKIN_H

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <limits.h>
#include <sys/stat.h>

#include "fathom_fwd.h"
#include "preload_calls.h"

/* An open file description, in the placeholder's memory: one for all processes that have it. */
struct shared {
	char magic[16];
	uint64_t id;
	pthread_mutex_t lock; /* guards position; robust: its holder may be killed */
	int64_t position;
	_Atomic int flags; /* O_* of open and F_SETFL */
	mode_t mode;       /* type of file */
	int cwd;           /* it is there as somebody's working directory */
	struct fathom_fwd_time birth;
	_Atomic uint64_t session;     /* of its locks; 0: none was made yet */
	_Atomic int held;             /* kinds of locks that the session has: HELD_* */
	_Atomic uint64_t first, last; /* bytes between which its ranges lie */
	uint64_t dev, ino;            /* at the server */
	struct fathom_fwd_handle handle;
	char path[PATH_MAX]; /* from the server's root, when it was opened */
};

/* The same in this process. */
struct file {
	_Atomic uint32_t users; /* descriptors and calls under way; 0: a free place */
	_Atomic pid_t holder;   /* the process whose client holds it at the server */
	_Atomic int lock;       /* descriptor of its locks' session; 0: not this process's */
	bool inherited;         /* through exec */
	_Atomic uint64_t epoch; /* of the server that holds it */
	_Atomic uint64_t
		errors;        /* of writes that had failed, when it was opened or was last told */
	_Atomic bool borrowed; /* somebody else holds it at the server as long as it is open */
	struct shared *shared;
};

/* ---- calls.c: where functions behind us are ---- */

/* ENOTSUP, and unless it is asked for by habit one line that names the op. */
int skin_refuse(const char *op, bool loud);

/* ---- settings.c: what the environment says ---- */

enum { PREFIXES = 16, ADDRESS = 512 };

struct settings {
	int prefixes;
	struct prefix {
		char path[PATH_MAX]; /* absolute, without a slash at its end */
		size_t length;
	} prefix[PREFIXES];
	char address[ADDRESS]; /* of the server that this process uses */
	const char *token;
	const char *munge; /* munged's socket, "": the usual one; NULL: not by munge */
	bool compress;
	uint32_t timeout; /* ms; 0: the server's */
	uint8_t level;    /* enum fathom_fwd_level that a write has reached when it returns */
	bool mpiio;       /* reads and writes of MPI-IO become list requests */
	struct fathom_fwd_striping striping; /* of files that are made */
};

/* NULL: nothing is forwarded. */
const struct settings *settings(void);

/* ---- place.c: paths ---- */

struct place {
	char *given;    /* the program's own text */
	bool by_handle; /* an empty path: the directory's descriptor itself is meant */
	bool by_number; /* and it was named as /proc has it: opened, it is opened once more */
	bool slash;     /* it ends in a slash: a directory is meant */
	/* It begins in an open directory, which may have another name by now: its handle, its path when it was opened, and the
	 * path from there. */
	bool from_directory;
	struct fathom_fwd_handle directory;
	char directory_path[PATH_MAX];
	const char *below;
	struct fathom_fwd_handle handle;
	const char *path; /* from the server's root; "": the root */
	char text[PATH_MAX +
		  4]; /* absolute; up to the prefix without . and .., with room for a slash */
};

/* The prefix that the first `length` bytes of an absolute path are, or lie below; NULL: none. */
const struct prefix *prefix_of(const char *path, size_t length);
/* The path lies below a prefix; errno stays. */
bool place_find(struct place *p, int directory, const char *path);
/* What stands before `path`, in `text`: bytes of the prefix without a slash. */
size_t place_prefix(const struct place *p);
/* One of the two does; if the other does not, its `path` is NULL. */
bool place_pair(struct place *a, int a_directory, const char *a_path, struct place *b,
		int b_directory, const char *b_path);
/* 0: both do. Between a forwarded and another file system nothing is moved or linked. */
int place_pair_error(const struct place *a, const struct place *b);

/* ---- server.c: the client in this process ---- */

/* A call to the server: nothing interrupts it, as nothing interrupts a disk. */
struct asking {
	struct fathom_fwd *client;
	struct fathom_fwd_hints hints;
	struct fathom_fwd_hint hint[2];
	struct fathom_fwd_path path[3]; /* of the files that it is about */
	bool from_root; /* paths that begin in open directories are followed from the root all the same */
	bool follows; /* a link in which the path ends */
	struct {
		const struct place *of;
		const char *path; /* from the root */
	} instead[2];             /* without the links that led out */
	struct file *file;        /* an open one */
	sigset_t signals;
	int cancel;
	int before; /* errno */
};

/* All but those that tell of a mistake of the program itself. */
void hold_signals(sigset_t *before);
/* 0, or the errno that asking_end is to be told. `name` is for messages. */
int asking_begin(struct asking *a, const char *name);
/* Programs append and also write elsewhere, or cut: the end moves with all of it. */
void asking_mixed(struct asking *a);
/* A read by which the time of reading stays. */
void asking_quietly(struct asking *a);
/* A file that it is about, and where a server that was started anew finds it. */
void asking_about(struct asking *a, const struct fathom_fwd_handle *handle, const char *path);
/* The call's path begins there; NULL: at the root. */
const struct fathom_fwd_handle *asking_from(struct asking *a, const struct place *at);
/* The path from there. */
const char *asking_below(const struct asking *a, const struct place *at);
/* The call has ended with EXDEV, as links lead out of the server's directory, or of an open one in which a path begins (`to` may
 * be NULL). It is asked once more, from the root, if these directories have the names that they were opened by; and then
 * with absolute links that lead below the prefix followed here. `error`: what it ends with otherwise. */
bool asking_again(struct asking *a, const struct place *at, const struct place *to, int *error);
/* What the server finds the file by, from the root. */
const char *asking_path(const struct asking *a, const struct place *at);
/* The call may make a file, to be striped like that. */
void asking_makes(struct asking *a, const struct fathom_fwd_striping *striping);
/* 0, or -1 and errno. Says what programs cannot know: that the server is gone, or does not answer. */
int asking_end(struct asking *a, int error);
/* NULL: there was no call yet. */
struct fathom_fwd *own_client(void);
/* In a call to the server: what this thread does now is the client's own. */
bool asking(void);
/* The client's own descriptor, or one of ours: the program never opened it. */
bool is_private(int fd);
/* Where numbers of descriptors begin that programs do not use; 0: there is no room. */
uint32_t lowest_private(void);
/* Between vfork and exec: memory is the parent's, descriptors are not. */
bool after_vfork(void);
void own_begin(void);
/* One line on stderr, once for each `key` of 0 .. 31. */
void complain(int key, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A lock that is free in a forked child. */
void own_lock(void);
void own_unlock(void);

/* ---- file.c: descriptors and what they stand for ---- */

enum {
	MOST_FILES = 1 << 16,
	MOST_DESCRIPTORS = 1 << 20,
	MOST_PRIVATE = 1 << 13, /* descriptors that programs do not know of lie below */
};

/* NULL: not ours. Held until file_put. */
struct file *file_get(int fd);
void file_put(struct file *f);
bool file_has(int fd);
/* A new descriptor of a file that the client opened, or borrowed; -1 and errno. */
int file_new(const struct fathom_fwd_handle *handle, const char *path, int flags,
	     const struct fathom_fwd_attr *attr, bool borrowed);
/* The descriptor stands for f from now on, or for nothing of ours; takes over the caller's hold. */
void file_set(int fd, struct file *f);
/* The program closes it. */
void file_closed(int fd);
/* A descriptor of ours: out of the way of the program's numbers, and not the program's to close. Its new number. */
int file_private(int fd);
bool file_is_private(int fd);
/* This process's client holds the file. 0 or an errno. */
int file_hold(struct asking *a, struct file *f);
/* asking_begin of a call on this file, which is held then. */
int file_asking(struct asking *a, struct file *f);
void file_lock(struct file *f);
void file_unlock(struct file *f);
/* What the program was started with. */
void files_inherited(void);
/* Descriptors from `first` on that are ours, up to `last`, are no more. */
void files_forget(unsigned int first, unsigned int last);

/* Absolute, as the program names it, in `path` of PATH_MAX; false: not ours. */
bool file_path(int fd, char *path);

/* ---- mpiio.c ---- */

/* A file that is being opened by many ranks, as one of them looked it up. */
struct known {
	struct fathom_fwd_handle handle;
	struct fathom_fwd_attr attr;
	bool link; /* the name leads to it by a symbolic link */
	bool here; /* this process's server knows it */
	bool writable;
	char path[PATH_MAX]; /* from the server's root */
};
/* NULL: this path is not being opened so by this thread. */
const struct known *opened_by_all(const struct place *at);

/* ---- cwd.c ---- */

bool cwd_is_ours(void);
/* The descriptor that stands for it, 0 if it is not ours. */
int cwd_descriptor(void);
void cwd_inherited(int fd);

/* ---- lock.c ---- */

int lock_range(struct file *f, int cmd, struct flock *wanted);
void lock_closed(struct file *f);
/* The call that begins fails if locks on the file are lost that its caller counts on: 0 or EIO. */
int lock_kept(struct asking *a, struct file *f);

/* ---- data.c ---- */

ssize_t data_read(struct file *f, const struct iovec *vector, int count, off_t offset);
ssize_t data_write(struct file *f, const struct iovec *vector, int count, off_t offset);
/* Waits for writes that have returned and may yet fail; 0, or -1 and errno. */
int data_settle(struct file *f);

/* ---- attributes.c ---- */

int attributes(struct file *f, struct fathom_fwd_attr *attr);
mode_t mask_now(void);

/* ---- directory.c ---- */

bool directory_is_ours(const void *dir);

/* ---- stream.c ---- */

/* stdin, stdout, stderr write to what descriptor 0, 1 or 2 stands for. */
void streams_follow(int fd);

#endif
