/* What the rows of catalog/probes/posix.toml ask for. Hooks leave errno alone: they make no call of libc that
 * could fail. */
#ifndef FATHOM_HANDLERS_POSIX_H
#define FATHOM_HANDLERS_POSIX_H

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>

#include "core/call.h"

/* The kernel refuses these addresses too: a call that gets one fails with EFAULT. */
static inline bool posix_readable(const void *address)
{
	return (intptr_t)address >= 4096;
}

static inline mode_t posix_mode(int flags, mode_t mode)
{
	return flags & O_CREAT || (flags & __O_TMPFILE) == __O_TMPFILE ? mode : 0;
}

static inline int posix_int(size_t n)
{
	return n > INT_MAX ? INT_MAX : (int)n;
}

static inline unsigned posix_low(int fd)
{
	return fd < 0 ? 0 : (unsigned)fd;
}

static inline bool posix_maps_file(int flags)
{
	return !(flags & MAP_ANONYMOUS);
}

static inline uintptr_t posix_whole_pages(uintptr_t bytes)
{
	return (bytes + 4095) & ~(uintptr_t)4095;
}

static inline int64_t posix_length(const char *text)
{
	return (int64_t)strlen(text);
}

static inline int64_t posix_vector_bytes(const struct iovec *vector, int count)
{
	int64_t bytes = 0;

	if (count > IOV_MAX || !posix_readable(vector))
		return 0;
	for (int i = 0; i < count; i++)
		bytes += (int64_t)vector[i].iov_len;
	return bytes;
}

/* As aligned as the least aligned piece. */
static inline uintptr_t posix_vector_buffer(const struct iovec *vector, int count)
{
	uintptr_t all = 0;

	if (count > IOV_MAX || !posix_readable(vector))
		return 0;
	for (int i = 0; i < count; i++)
		all |= (uintptr_t)vector[i].iov_base;
	return all;
}

/* Where the descriptor stands, for a call that may move it in the kernel only. */
static inline int64_t posix_position(int fd)
{
	return descriptor_advance(fd, descriptor_position(fd), 0);
}

static inline int64_t posix_offset(int fd, off_t offset)
{
	return offset == -1 ? posix_position(fd) : offset;
}

static inline int64_t posix_offset_at(int fd, const off_t *offset)
{
	if (!offset)
		return posix_position(fd);
	return posix_readable(offset) ? *offset : UNKNOWN_OFFSET;
}

static inline int64_t posix_end(int result, const int *ends, int which)
{
	return result == 0 ? ends[which] : -1;
}

/* The descriptor that /proc/self/fd/N is a link to; -1: the path is no such link. */
int posix_linked_descriptor(const char *path);

/* The object of a path, or of dirfd itself where the path is empty (AT_EMPTY_PATH) or NULL (utimensat). Of linkat's
 * that is a link to a descriptor (AT_SYMLINK_FOLLOW), that descriptor's. */
static inline uint32_t posix_at(int dirfd, const char *path, int flags)
{
	const int fd = flags & AT_SYMLINK_FOLLOW ? posix_linked_descriptor(path) : -1;

	if (fd >= 0)
		return descriptor_object(fd);
	if (!path || (flags & AT_EMPTY_PATH && posix_readable(path) && !*path))
		return dirfd == AT_FDCWD ? 0 : descriptor_object(dirfd);
	return path_object(dirfd, path);
}

/* ---- posix.c: descriptors ---- */

/* A call made fd; path NULL: the kernel's name for it is asked. */
void posix_opened(struct call *c, int fd, int dirfd, const char *path, int flags);
void posix_piped(struct call *c, int result, const int *ends, int flags);
void posix_close_range(unsigned first, unsigned last, int flags);
void posix_duped(int fd, int duplicate, bool cloexec);
void posix_controlled(int fd, int cmd, uintptr_t argument, int result);
int64_t posix_fcntl_number(int cmd, uintptr_t argument);
int64_t posix_lock_type(int cmd, uintptr_t argument);
int64_t posix_lock_whence(int cmd, uintptr_t argument);
int64_t posix_lock_start(int cmd, uintptr_t argument);
int64_t posix_lock_length(int cmd, uintptr_t argument);
void posix_sought(int fd, off_t position);
void posix_moved(int fd, bool at_position, ssize_t done);
void posix_sent(struct call *c, int out_fd, int in_fd, bool at_position, ssize_t done,
		uint64_t ended);
void posix_copied(struct call *c, int in_fd, const off_t *in_offset, int out_fd,
		  bool out_at_position, ssize_t done, uint64_t ended);
void posix_detached(int result);

/* ---- posix_names.c: paths, directories ---- */

void posix_to(struct call *c, int dirfd, const char *to);
void posix_text(struct call *c, const char *name, const char *value);
void posix_named(struct call *c, const char *path);
void posix_moved_to(int result);
uint32_t directory_object(DIR *dir);
int posix_directory_fd(DIR *dir);
void posix_directory_opened(struct call *c, DIR *dir, const char *path);
void posix_directory_adopted(struct call *c, DIR *dir);
void posix_directory_closing(DIR *dir);

/* ---- posix_map.c: mappings ---- */

void posix_mapped(struct call *c, void *address, size_t length, int protection, int flags, int fd,
		  int64_t offset);
bool posix_maps(const void *address, size_t length); /* is some of it a file's? */
uint32_t posix_mapping_at(const void *address);
void posix_unmapping(struct call *c, const void *address, size_t length);
void posix_moving(struct call *c, const void *address, size_t length);
void posix_unmapped(struct call *c, const void *address, size_t length, int result);
void posix_remapped(struct call *c, const void *address, size_t length, size_t wanted, void *moved);
void posix_syncing(struct call *c, const void *address, size_t length);
int64_t posix_selection(const struct call *c); /* the epoch that ended before the call */
int64_t posix_used(const struct call *c);      /* posix_resident of what the call unmapped */
void posix_maps_at_end(void);

/* ---- posix_resident.c: what the kernel says of mappings ---- */

/* Bytes of these that the process has in memory; -1: not known, as of mappings below 1 MiB. */
int64_t posix_resident(uintptr_t start, size_t length);
/* The file of the mapping at this address, by its name; false: it has none, or cannot be asked. */
bool posix_mapped_path(uintptr_t start, char *path, size_t size);

/* ---- posix_dirty.c: what is written through mappings ---- */

void posix_dirty_mapped(uint32_t object, const void *address, size_t length, int protection,
			int flags, int64_t offset);
uint32_t posix_dirty_epoch(struct call *c, const void *address, size_t length);
void posix_dirty_unmapped(const void *address, size_t length);

/* ---- posix_syscall.c: syscall() ---- */

bool syscall_is_io(long number, long a1, long a2, long a4);
uint32_t syscall_object(long number, long a1, long a2, long a3, long a4, long a5, long a6);
uint32_t syscall_op(long number);
int64_t syscall_size(long number, long a1, long a2, long a3, long a4, long a5, long a6);
int64_t syscall_offset(long number, long a1, long a2, long a3, long a4, long a5, long a6);
int64_t syscall_bytes(long number, long result);
void syscall_before(struct call *c, long number, long a1, long a2, long a3);
void syscall_after(struct call *c, long result, long number, long a1, long a2, long a3, long a4,
		   long a5, long a6, uint64_t ended);

#endif
