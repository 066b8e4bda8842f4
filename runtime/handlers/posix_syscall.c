/* syscall(): the I/O system calls by number, with the arguments that name file, size and offset. */
#include <linux/openat2.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "core/process.h"
#include "handlers/aio.h"
#include "handlers/posix.h"
#include "handlers/uring.h"
#include "ops.h"

/* Positions of arguments, from 1; 0: it has none. */
struct shape {
	bool known;
	uint8_t fd;
	bool memory;      /* the first two are a range of memory */
	uint8_t at, path; /* at 0: the path starts from the working directory */
	uint8_t size, vector;
	uint8_t offset;
	bool at_position; /* it moves the descriptor */
	uint16_t moves;   /* its result is a number of bytes: the op that it is */
	bool queue;       /* asynchronous I/O */
};

enum { READ = OP_POSIX_SYSCALL_READ, WRITE = OP_POSIX_SYSCALL_WRITE };
/* The same on all machines: landlock_restrict_self of Linux 5.13, io_uring_setup of 5.1. */
enum { SYS_LANDLOCK = 446, SYS_URING = 425 };

#define FD(n)                                                                                      \
	{                                                                                          \
		.known = true, .fd = (n)                                                           \
	}
#define PATH(n)                                                                                    \
	{                                                                                          \
		.known = true, .path = (n)                                                         \
	}
#define AT(n)                                                                                      \
	{                                                                                          \
		.known = true, .at = (n), .path = (n) + 1                                          \
	}
#define QUEUE                                                                                      \
	{                                                                                          \
		.known = true, .queue = true                                                       \
	}
#define MEMORY                                                                                     \
	{                                                                                          \
		.known = true, .memory = true                                                      \
	}
#define NO_FILE                                                                                    \
	{                                                                                          \
		.known = true                                                                      \
	}

static const struct shape shapes[] = {
	[SYS_chdir] = PATH(1),
	[SYS_close] = FD(1),
	[SYS_close_range] = NO_FILE,
	[SYS_dup] = FD(1),
	[SYS_dup3] = FD(1),
	[SYS_faccessat] = AT(1),
	[SYS_faccessat2] = AT(1),
	[SYS_fchdir] = FD(1),
	[SYS_fchmod] = FD(1),
	[SYS_fchmodat] = AT(1),
	[SYS_fchown] = FD(1),
	[SYS_fchownat] = AT(1),
	[SYS_fcntl] = FD(1),
	[SYS_fdatasync] = FD(1),
	[SYS_fgetxattr] = FD(1),
	[SYS_flistxattr] = FD(1),
	[SYS_flock] = FD(1),
	[SYS_fremovexattr] = FD(1),
	[SYS_fsetxattr] = FD(1),
	[SYS_fstat] = FD(1),
	[SYS_fstatfs] = FD(1),
	[SYS_fsync] = FD(1),
	[SYS_ftruncate] = FD(1),
	[SYS_getcwd] = NO_FILE,
	[SYS_getdents64] = FD(1),
	[SYS_getxattr] = PATH(1),
	[SYS_io_cancel] = QUEUE,
	[SYS_io_destroy] = QUEUE,
	[SYS_io_getevents] = QUEUE,
	[SYS_io_pgetevents] = QUEUE,
	[SYS_io_setup] = QUEUE,
	[SYS_io_submit] = QUEUE,
	[SYS_ioctl] = FD(1),
	[SYS_lgetxattr] = PATH(1),
	[SYS_linkat] = AT(1),
	[SYS_listxattr] = PATH(1),
	[SYS_llistxattr] = PATH(1),
	[SYS_lremovexattr] = PATH(1),
	[SYS_lseek] = FD(1),
	[SYS_lsetxattr] = PATH(1),
	[SYS_memfd_create] = NO_FILE,
	[SYS_mkdirat] = AT(1),
	[SYS_mknodat] = AT(1),
	[SYS_mremap] = MEMORY,
	[SYS_msync] = MEMORY,
	[SYS_munmap] = MEMORY,
	[SYS_name_to_handle_at] = AT(1),
	[SYS_newfstatat] = AT(1),
	[SYS_open_by_handle_at] = NO_FILE,
	[SYS_openat] = AT(1),
	[SYS_openat2] = AT(1),
	[SYS_pipe2] = NO_FILE,
	[SYS_readlinkat] = AT(1),
	[SYS_removexattr] = PATH(1),
	[SYS_renameat] = AT(1),
	[SYS_renameat2] = AT(1),
	[SYS_setxattr] = PATH(1),
	[SYS_statfs] = PATH(1),
	[SYS_statx] = AT(1),
	[SYS_symlinkat] = AT(2),
	[SYS_sync] = NO_FILE,
	[SYS_syncfs] = FD(1),
	[SYS_truncate] = PATH(1),
	[SYS_unlinkat] = AT(1),
	[SYS_utimensat] = AT(1),
	[SYS_read] = {.known = true, .fd = 1, .size = 3, .at_position = true, .moves = READ},
	[SYS_write] = {.known = true, .fd = 1, .size = 3, .at_position = true, .moves = WRITE},
	[SYS_readv] = {.known = true, .fd = 1, .vector = 2, .at_position = true, .moves = READ},
	[SYS_writev] = {.known = true, .fd = 1, .vector = 2, .at_position = true, .moves = WRITE},
	[SYS_pread64] = {.known = true, .fd = 1, .size = 3, .offset = 4, .moves = READ},
	[SYS_pwrite64] = {.known = true, .fd = 1, .size = 3, .offset = 4, .moves = WRITE},
	[SYS_preadv] = {.known = true, .fd = 1, .vector = 2, .offset = 4, .moves = READ},
	[SYS_pwritev] = {.known = true, .fd = 1, .vector = 2, .offset = 4, .moves = WRITE},
	[SYS_preadv2] = {.known = true, .fd = 1, .vector = 2, .offset = 4, .moves = READ},
	[SYS_pwritev2] = {.known = true, .fd = 1, .vector = 2, .offset = 4, .moves = WRITE},
	[SYS_sendfile] = {.known = true, .fd = 2, .size = 4, .moves = READ},
	[SYS_copy_file_range] = {.known = true, .fd = 3, .size = 5, .moves = WRITE},
	[SYS_splice] = {.known = true, .fd = 3, .size = 5, .moves = WRITE},
	[SYS_tee] = {.known = true, .fd = 2, .size = 3, .moves = WRITE},
	[SYS_vmsplice] = {.known = true, .fd = 1, .vector = 2, .moves = WRITE},
	[SYS_fallocate] = {.known = true, .fd = 1, .offset = 3, .size = 4},
	[SYS_fadvise64] = {.known = true, .fd = 1, .offset = 2, .size = 3},
	[SYS_readahead] = {.known = true, .fd = 1, .offset = 2, .size = 3},
	[SYS_sync_file_range] = {.known = true, .fd = 1, .offset = 2, .size = 3},
	[SYS_mmap] = {.known = true, .fd = 5, .size = 2, .offset = 6},
#ifdef SYS_open /* what newer architectures have only in the forms above */
	[SYS_access] = PATH(1),
	[SYS_chmod] = PATH(1),
	[SYS_chown] = PATH(1),
	[SYS_creat] = PATH(1),
	[SYS_dup2] = FD(1),
	[SYS_futimesat] = AT(1),
	[SYS_lchown] = PATH(1),
	[SYS_link] = PATH(1),
	[SYS_lstat] = PATH(1),
	[SYS_mkdir] = PATH(1),
	[SYS_mknod] = PATH(1),
	[SYS_open] = PATH(1),
	[SYS_pipe] = NO_FILE,
	[SYS_readlink] = PATH(1),
	[SYS_rename] = PATH(1),
	[SYS_rmdir] = PATH(1),
	[SYS_stat] = PATH(1),
	[SYS_symlink] = PATH(2),
	[SYS_unlink] = PATH(1),
	[SYS_utime] = PATH(1),
	[SYS_utimes] = PATH(1),
#endif
};

static const struct shape *shape_of(long number)
{
	static const struct shape unknown;

	if (number < 0 || (unsigned long)number >= sizeof(shapes) / sizeof(shapes[0]))
		return &unknown;
	return &shapes[number];
}

/* What limits the program's system calls: no row, but we must know of it. */
static bool sets_limits(long number, long a1)
{
	return (number == SYS_prctl && a1 == PR_SET_SECCOMP) ||
	       (number == SYS_seccomp &&
		(a1 == SECCOMP_SET_MODE_STRICT || a1 == SECCOMP_SET_MODE_FILTER));
}

bool syscall_is_io(long number, long a1, long a2, long a4)
{
	const struct shape *s = shape_of(number);

	if (sets_limits(number, a1) || number == SYS_LANDLOCK || number == SYS_URING)
		return true;
	if (!s->known || (number == SYS_mmap && !posix_maps_file((int)a4)) ||
	    (s->memory && !posix_maps((const void *)a1, (size_t)a2)))
		return false;
	return !(s->queue && call_inside(LAYER_AIO)); /* libaio's own, inside its row */
}

uint32_t syscall_object(long number, long a1, long a2, long a3, long a4, long a5, long a6)
{
	const struct shape *s = shape_of(number);
	const long a[] = {0, a1, a2, a3, a4, a5, a6};

	if (s->path)
		return posix_at(s->at ? (int)a[s->at] : AT_FDCWD, (const char *)a[s->path],
				AT_EMPTY_PATH);
	if (s->memory)
		return posix_mapping_at((const void *)a1);
	return s->fd ? descriptor_object((int)a[s->fd]) : 0;
}

int64_t syscall_size(long number, long a1, long a2, long a3, long a4, long a5, long a6)
{
	const struct shape *s = shape_of(number);
	const long a[] = {0, a1, a2, a3, a4, a5, a6};

	if (s->vector)
		return posix_vector_bytes((const struct iovec *)a[s->vector],
					  (int)a[s->vector + 1]);
	return s->size ? a[s->size] : 0;
}

int64_t syscall_offset(long number, long a1, long a2, long a3, long a4, long a5, long a6)
{
	const struct shape *s = shape_of(number);
	const long a[] = {0, a1, a2, a3, a4, a5, a6};

	if (s->at_position)
		return posix_position((int)a1);
	return s->offset ? a[s->offset] : UNKNOWN_OFFSET;
}

int64_t syscall_bytes(long number, long result)
{
	return shape_of(number)->moves ? result : 0;
}

uint32_t syscall_op(long number)
{
	const struct shape *s = shape_of(number);

	return s->moves ? s->moves : OP_POSIX_SYSCALL;
}

/* A filter for all threads that one of them cannot have is that one's id; where a listener was asked for, what is
 * above 0 is its descriptor. */
static bool is_limited(long result, long number, long flags)
{
	const bool all = number == SYS_seccomp && flags & SECCOMP_FILTER_FLAG_TSYNC &&
			 !(flags & SECCOMP_FILTER_FLAG_NEW_LISTENER);

	return result == 0 || (result > 0 && !all);
}

/* What must be forgotten while the descriptor is still its owner's. */
void syscall_before(struct call *c, long number, long a1, long a2, long a3)
{
	if (sets_limits(number, a1)) {
		c->cancel = true;
		process_quiet(number == SYS_prctl ? a2 == SECCOMP_MODE_STRICT
						  : a1 == SECCOMP_SET_MODE_STRICT);
		return;
	}
	if (number == SYS_LANDLOCK) {
		c->cancel = true;
		process_confined();
		return;
	}
	if (number == SYS_URING) {
		c->cancel = true;
		return;
	}
	switch (number) {
	case SYS_io_submit:
		if (c->thread)
			libaio_posting((uintptr_t)a1, a2, (struct iocb *const *)a3);
		break;
	case SYS_close:
		descriptor_close((int)a1);
		break;
	case SYS_close_range:
		posix_close_range((unsigned)a1, (unsigned)a2, (int)a3);
		break;
	case SYS_mremap:
		posix_moving(c, (const void *)a1, (size_t)a2);
		break;
	case SYS_munmap:
		posix_unmapping(c, (const void *)a1, (size_t)a2);
		break;
	}
}

static void opened(struct call *c, int fd, long number, long a1, long a2, long a3)
{
	switch (number) {
#ifdef SYS_open
	case SYS_open:
		posix_opened(c, fd, AT_FDCWD, (const char *)a1, (int)a2);
		break;
	case SYS_creat:
		posix_opened(c, fd, AT_FDCWD, (const char *)a1, O_CREAT | O_WRONLY | O_TRUNC);
		break;
#endif
	case SYS_openat:
		posix_opened(c, fd, (int)a1, (const char *)a2, (int)a3);
		break;
	case SYS_openat2:
		posix_opened(c, fd, (int)a1, (const char *)a2,
			     (int)((const struct open_how *)a3)->flags);
		break;
	case SYS_memfd_create:
	case SYS_open_by_handle_at:
		posix_opened(c, fd, AT_FDCWD, NULL,
			     number == SYS_open_by_handle_at ? (int)a3 : O_RDWR);
		break;
	}
}

static void record_duplicate(int duplicate, long number, long a1, long a2, long a3)
{
	switch (number) {
	case SYS_dup:
#ifdef SYS_dup2
	case SYS_dup2:
#endif
		posix_duped((int)a1, duplicate, false);
		break;
	case SYS_dup3:
		posix_duped((int)a1, duplicate, a3 & O_CLOEXEC);
		break;
	case SYS_fcntl:
		posix_controlled((int)a1, (int)a2, (uintptr_t)a3, duplicate);
		break;
	}
}

static void asynchronous(struct call *c, long result, long number, long a1, long a2, long a3,
			 long a4, uint64_t ended)
{
	switch (number) {
	case SYS_io_setup:
		libaio_made(c, result, (const uintptr_t *)a2);
		break;
	case SYS_io_submit:
		libaio_posted((uintptr_t)a1, a2, (struct iocb *const *)a3,
			      result < 0 ? -c->error : result, ended);
		break;
	case SYS_io_getevents:
	case SYS_io_pgetevents:
		libaio_seen((uintptr_t)a1, (const struct io_event *)a4, result, ended);
		break;
	case SYS_io_destroy:
		aio_forget((uintptr_t)a1);
		libaio_gone((uintptr_t)a1);
		break;
	}
}

static void mapped(struct call *c, long result, long number, long a1, long a2, long a3, long a4,
		   long a5, long a6)
{
	switch (number) {
	case SYS_mmap:
		posix_mapped(c, (void *)result, (size_t)a2, (int)a3, (int)a4, (int)a5, a6);
		break;
	case SYS_mremap:
		posix_remapped(c, (const void *)a1, (size_t)a2, (size_t)a3, (void *)result);
		break;
	case SYS_munmap:
		posix_unmapped(c, (const void *)a1, (size_t)a2, (int)result);
		break;
	}
}

void syscall_after(struct call *c, long result, long number, long a1, long a2, long a3, long a4,
		   long a5, long a6, uint64_t ended)
{
	if (sets_limits(number, a1))
		process_limited(is_limited(result, number, a2));
	if (c->thread)
		asynchronous(c, result, number, a1, a2, a3, a4, ended);
	mapped(c, result, number, a1, a2, a3, a4, a5, a6);
	if (result < 0)
		return;
	if (shape_of(number)->at_position)
		posix_moved((int)a1, true, result);
	opened(c, (int)result, number, a1, a2, a3);
	record_duplicate((int)result, number, a1, a2, a3);
	switch (number) {
	case SYS_lseek:
		posix_sought((int)a1, result);
		break;
	case SYS_sendfile:
		posix_sent(c, (int)a1, (int)a2, !a3, result, ended);
		break;
	case SYS_copy_file_range:
	case SYS_splice:
		posix_copied(c, (int)a1, (const off_t *)a2, (int)a3, !a4, result, ended);
		break;
	case SYS_URING:
		uring_bare();
		break;
	case SYS_chdir:
	case SYS_fchdir:
		posix_moved_to((int)result);
		break;
	case SYS_pipe2:
		posix_piped(c, (int)result, (const int *)a1, (int)a2);
		break;
#ifdef SYS_pipe
	case SYS_pipe:
		posix_piped(c, (int)result, (const int *)a1, 0);
		break;
#endif
	}
}
