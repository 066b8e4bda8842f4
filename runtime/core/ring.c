/* The ring: a file in node-local memory that holds a process's open chunks, so that they outlive it. */
#include "core/base.h"
#include "core/chunk.h"
#include "core/config.h"
#include "core/ring.h"
#include "core/state.h"
#include "core/levels.h"
#include "core/text.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "core/raw.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14 */
#endif

bool ring_stays(void)
{
	return process->write_failed || raw_closed();
}

static void *map_private(size_t bytes)
{
	long at = raw6(SYS_mmap, 0, (long)bytes, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return at < 0 && at > -4096 ? NULL : (void *)at;
}

long file_result(long result)
{
	uint64_t mask = 1ull << (SIGXFSZ - 1);
	int64_t none[2] = {0, 0};

	if (result == -EFBIG)
		raw4(SYS_rt_sigtimedwait, (long)&mask, 0, (long)none, sizeof(mask));
	return result;
}

uint64_t file_limit(void)
{
	struct rlimit limit;

	return raw4(SYS_prlimit64, 0, RLIMIT_FSIZE, 0, (long)&limit) == 0 ? limit.rlim_cur
									  : RLIM_INFINITY;
}

static long open_now(const char *path, int flags, int mode)
{
	return raw4(SYS_openat, AT_FDCWD, (long)path, flags | O_CLOEXEC | O_NOFOLLOW, mode);
}

long file_open(const char *path, int flags, int mode)
{
	struct rlimit was, more;
	long fd = open_now(path, flags, mode);

	if (fd != -EMFILE || raw4(SYS_prlimit64, 0, RLIMIT_NOFILE, 0, (long)&was) != 0)
		return fd;
	more.rlim_cur = was.rlim_cur + 1;
	more.rlim_max = was.rlim_max > was.rlim_cur ? was.rlim_max : more.rlim_cur;
	if (raw4(SYS_prlimit64, 0, RLIMIT_NOFILE, (long)&more, 0) == 0) {
		fd = open_now(path, flags, mode);
		raw4(SYS_prlimit64, 0, RLIMIT_NOFILE, (long)&was, 0);
	}
	return fd;
}

/* The same where the program has used up its descriptors for good: by path, and by a mapping of length 0, which
 * mremap takes for one more of the same file. */
static long map_without_descriptor(uint64_t offset, size_t bytes)
{
	long size = (long)(offset + bytes), at, populated;

	if (file_result(raw3(SYS_truncate, (long)process->ring_path, size, 0)) != 0)
		return -ENOSPC;
	at = raw6(SYS_mremap, (long)process->ring, 0, size, MREMAP_MAYMOVE, 0, 0);
	if (at < 0 && at > -4096)
		return at;
	raw3(SYS_munmap, at, (long)offset, 0);
	at += (long)offset;
	populated = raw3(SYS_madvise, at, (long)bytes, MADV_POPULATE_WRITE);
	if (populated == 0)
		return at;
	raw3(SYS_munmap, at, (long)bytes, 0);
	return populated;
}

/* Grows the ring file by `bytes` and maps them. The pages are allocated now: a full memory file system
 * must be an error here, not a SIGBUS in the program later. */
static void *map_file(int flags, size_t bytes)
{
	uint64_t offset = process->ring_used;
	long at = -1, fd;

	if (offset + bytes > file_limit())
		return NULL;
	fd = file_open(process->ring_path, O_RDWR | flags, 0600);
	if (fd == -EMFILE && process->ring)
		at = map_without_descriptor(offset, bytes);
	else if (fd < 0)
		return NULL;
	else if (file_result(raw4(SYS_fallocate, fd, 0, (long)offset, (long)bytes)) == 0)
		at = raw6(SYS_mmap, 0, (long)bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
			  (long)offset);
	if (fd >= 0)
		raw3(SYS_close, fd, 0, 0);
	if (at < 0 && at > -4096) {
		if (flags & O_CREAT)
			raw3(SYS_unlinkat, AT_FDCWD, (long)process->ring_path, 0);
		return NULL;
	}
	process->ring_used += bytes;
	return (void *)at;
}

/* Field 22 of /proc/self/stat, counted from behind the program's name, which may hold anything. */
static uint64_t pid_start(void)
{
	char *text = process->path;
	const long got = raw_read_file("/proc/self/stat", text, PATH_BYTES - 1);
	const char *at;

	if (got <= 0)
		return 0;
	text[got] = '\0';
	at = strrchr(text, ')');
	for (int field = 2; at && field < 22; field++)
		at = strchr(at + 1, ' ');
	return at ? text_number(&at) : 0;
}

/* A header takes the place of the one before: somebody may be about to look at its gate. */
static void settle_header(void)
{
	if (process->place)
		raw6(SYS_mremap, (long)process->ring, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED,
		     (long)process->place, 0);
	else
		process->place = process->ring;
	process->ring = process->place;
}

bool ring_is_own(void)
{
	struct stat st;

	return raw4(SYS_newfstatat, AT_FDCWD, (long)config.ring, (long)&st, AT_SYMLINK_NOFOLLOW) ==
		       0 &&
	       S_ISDIR(st.st_mode) && st.st_uid == (uid_t)raw3(SYS_geteuid, 0, 0, 0);
}

static void ring_begin(void)
{
	exec_ring(process->path);
	/* Of the image that became this one. */
	raw3(SYS_unlinkat, AT_FDCWD, (long)process->path, 0);
	process->ring_used = 0;
	for (int tries = 0; tries < 3 && !process->ring;
	     tries++) { /* another process may remove it */
		raw3(SYS_mkdirat, AT_FDCWD, (long)config.ring, 0700);
		process->ring = ring_is_own() ? map_file(O_CREAT | O_EXCL, PAGE) : NULL;
	}
	if (!process->ring)
		return;
	settle_header();
	process->ring->version = 1;
	process->ring->page = PAGE;
	process->ring->instance = process->instance;
	process->ring->pid = process->pid;
	process->ring->pid_start = pid_start();
	atomic_store(&process->ring->allocated, PAGE);
	memcpy(process->ring->magic, "FATHOMRG", 8);
	levels_new_image();
}

/* Shared memory, or private when there is none. */
static void *extend(size_t bytes)
{
	void *extent = NULL;

	if (!process->ring && !process->ring_used) {
		ring_begin();
		process->ring_used = process->ring ? process->ring_used : PAGE; /* asked once */
	}
	if (process->ring)
		extent = map_file(0, bytes);
	if (extent) {
		atomic_store(&process->ring->allocated, process->ring_used);
		return extent;
	}
	/* Private memory that nobody writes out helps nobody. */
	extent = process->ring && ring_stays() ? NULL : map_private(bytes);
	if (extent)
		process->ring_used += bytes;
	return extent;
}

static void *take(struct spare **list, size_t bytes)
{
	struct spare *spare = *list;

	if (!spare)
		return extend(bytes);
	*list = spare->next;
	return spare;
}

static void give(struct spare **list, void *memory)
{
	struct spare *spare = memory;

	memset(spare->magic, 0, sizeof(spare->magic));
	barrier();
	spare->next = *list;
	*list = spare;
}

struct chunk *ring_chunk(bool first)
{
	struct chunk *chunk;

	if (!first && (process->chunks >= RING_CHUNKS || (raw_closed() && !process->chunks_aside)))
		return NULL;
	if (!first && ring_stays() && process->chunks_aside)
		process->chunks_aside--;
	chunk = take(&process->spare_chunks, CHUNK_BYTES);
	process->chunks += chunk != NULL;
	return chunk;
}

void ring_chunk_free(void *chunk)
{
	give(&process->spare_chunks, chunk);
	process->chunks--;
}

/* Rows get most of it; the rest is for streams and counters of threads to come. */
void ring_set_aside(void)
{
	enum { ROWS = 128, REST = 32, PAGES = 32, LEAST = 8 };
	char *memory = NULL;
	uint32_t rows;

	for (rows = ROWS; rows >= LEAST && process->ring && !memory && !process->chunks_aside;
	     rows /= 2)
		memory = map_file(0, (rows + REST) * (size_t)CHUNK_BYTES + PAGES * PAGE);
	if (!memory)
		return;
	rows *= 2;
	atomic_store(&process->ring->allocated, process->ring_used);
	for (uint32_t i = 0; i < rows + REST; i++, memory += CHUNK_BYTES)
		give(&process->spare_chunks, memory);
	for (uint32_t i = 0; i < PAGES; i++, memory += PAGE)
		give(&process->spare_pages, memory);
	process->chunks_aside = rows;
}

struct thread_page *ring_page(void)
{
	return take(&process->spare_pages, PAGE);
}

void ring_page_free(struct thread_page *page)
{
	give(&process->spare_pages, page);
}

void ring_remove(void)
{
	if (!process->ring)
		return;
	raw3(SYS_unlinkat, AT_FDCWD, (long)process->ring_path, 0);
	if (control_is_private()) /* else `fathom run` made the directory, and ends it */
		raw3(SYS_unlinkat, AT_FDCWD, (long)config.ring, 0x200 /* AT_REMOVEDIR */);
}

static void unmap_all(struct spare *spare, size_t bytes)
{
	for (struct spare *next; spare; spare = next) {
		next = spare->next;
		raw3(SYS_munmap, (long)spare, (long)bytes, 0);
	}
}

void ring_forget(void)
{
	unmap_all(process->spare_chunks, CHUNK_BYTES);
	unmap_all(process->spare_pages, PAGE);
}
