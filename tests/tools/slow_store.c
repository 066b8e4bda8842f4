/* A slow file system on demand: a preload library that delays reads, writes, syncs and opens.
 *
 *	SLOW_STORE_LATENCY_US   added to each operation (default 0)
 *	SLOW_STORE_RATE_MB      MB/s of reads and writes together, 10^6 bytes (default unlimited)
 *	SLOW_STORE_UNDER        only descriptors opened below this path (default all)
 *	SLOW_STORE_ONLY         comma-separated operations: open,read,write,sync (default all)
 *
 * At exit it prints "slow_store: N operations, B bytes" to the file SLOW_STORE_REPORT names, appended:
 * proof that it was reached when other preload tools are above or below it. It is a plain preload
 * tool on purpose: it exports the symbols and asks dlsym(RTLD_NEXT) for the next ones. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum kind { OPEN, READ, WRITE, SYNC, KINDS };
static const char *const kind_names[KINDS] = {"open", "read", "write", "sync"};

enum { DESCRIPTORS = 4096 };

/* Written once by setup(); `slow` by opens and closes, `busy_until` and the counts by all. */
static struct {
	long latency_us;
	double ns_per_byte;
	const char *under;
	bool on[KINDS];
	atomic_bool slow[DESCRIPTORS];
	_Atomic int64_t busy_until; /* CLOCK_MONOTONIC ns: the store serves one request at a time */
	_Atomic uint64_t operations;
	_Atomic uint64_t bytes;
} store;

static struct {
	int (*open)(const char *, int, ...);
	int (*openat)(int, const char *, int, ...);
	int (*close)(int);
	ssize_t (*read)(int, void *, size_t);
	ssize_t (*write)(int, const void *, size_t);
	ssize_t (*pread)(int, void *, size_t, off_t);
	ssize_t (*pwrite)(int, const void *, size_t, off_t);
	ssize_t (*readv)(int, const struct iovec *, int);
	ssize_t (*writev)(int, const struct iovec *, int);
	int (*fsync)(int);
	int (*fdatasync)(int);
} next;

static void *find(const char *name)
{
	void *symbol = dlsym(RTLD_NEXT, name);

	if (!symbol)
		abort(); /* libc without a libc function */
	return symbol;
}

__attribute__((constructor)) static void setup(void)
{
	const char *latency = getenv("SLOW_STORE_LATENCY_US");
	const char *rate = getenv("SLOW_STORE_RATE_MB");
	const char *only = getenv("SLOW_STORE_ONLY");

	if (next.open)
		return;
	store.latency_us = latency ? atol(latency) : 0;
	store.ns_per_byte = rate && atof(rate) > 0 ? 1e3 / atof(rate) : 0;
	store.under = getenv("SLOW_STORE_UNDER");
	for (int i = 0; i < KINDS; i++)
		store.on[i] = !only || strstr(only, kind_names[i]);
	next.openat = find("openat");
	next.close = find("close");
	next.read = find("read");
	next.write = find("write");
	next.pread = find("pread");
	next.pwrite = find("pwrite");
	next.readv = find("readv");
	next.writev = find("writev");
	next.fsync = find("fsync");
	next.fdatasync = find("fdatasync");
	next.open = find("open");
}

__attribute__((destructor)) static void report(void)
{
	const char *path = getenv("SLOW_STORE_REPORT");
	char line[96];

	if (!path || !next.open)
		return;
	int fd = next.open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
	int length =
		snprintf(line, sizeof(line), "slow_store: %llu operations, %llu bytes\n",
			 (unsigned long long)store.operations, (unsigned long long)store.bytes);
	if (fd < 0)
		return;
	if (next.write(fd, line, (size_t)length) < 0)
		perror("slow_store");
	next.close(fd);
}

static int64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

/* Waits as long as a store with one queue would: after what was asked for before. */
static void serve(enum kind kind, size_t bytes)
{
	int saved = errno;
	int64_t cost = store.latency_us * 1000 + (int64_t)((double)bytes * store.ns_per_byte);

	store.operations++;
	store.bytes += bytes;
	if (store.on[kind] && cost > 0) {
		int64_t arrived = now();
		int64_t before = atomic_load(&store.busy_until);
		int64_t end;
		do
			end = (before > arrived ? before : arrived) + cost;
		while (!atomic_compare_exchange_weak(&store.busy_until, &before, end));
		struct timespec until = {end / 1000000000, end % 1000000000};
		while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
			;
	}
	errno = saved;
}

static bool is_slow(int fd)
{
	if (!store.under)
		return true;
	return fd >= 0 && fd < DESCRIPTORS && atomic_load(&store.slow[fd]);
}

static int opened(int fd, const char *path)
{
	bool slow = !store.under || !strncmp(path, store.under, strlen(store.under));

	if (fd >= 0 && fd < DESCRIPTORS)
		atomic_store(&store.slow[fd], slow);
	if (slow)
		serve(OPEN, 0);
	return fd;
}

static mode_t mode_of(int flags, va_list list)
{
	return (flags & O_CREAT) || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(list, mode_t) : 0;
}

static ssize_t moved(int fd, enum kind kind, ssize_t bytes)
{
	if (is_slow(fd))
		serve(kind, bytes > 0 ? (size_t)bytes : 0);
	return bytes;
}

int open(const char *path, int flags, ...)
{
	va_list list;

	setup();
	va_start(list, flags);
	mode_t mode = mode_of(flags, list);
	va_end(list);
	return opened(next.open(path, flags, mode), path);
}

int openat(int directory, const char *path, int flags, ...)
{
	va_list list;

	setup();
	va_start(list, flags);
	mode_t mode = mode_of(flags, list);
	va_end(list);
	return opened(next.openat(directory, path, flags, mode), path);
}

int close(int fd)
{
	setup();
	if (fd >= 0 && fd < DESCRIPTORS)
		atomic_store(&store.slow[fd], false);
	return next.close(fd);
}

ssize_t read(int fd, void *data, size_t size)
{
	setup();
	return moved(fd, READ, next.read(fd, data, size));
}

ssize_t write(int fd, const void *data, size_t size)
{
	setup();
	return moved(fd, WRITE, next.write(fd, data, size));
}

ssize_t pread(int fd, void *data, size_t size, off_t offset)
{
	setup();
	return moved(fd, READ, next.pread(fd, data, size, offset));
}

ssize_t pwrite(int fd, const void *data, size_t size, off_t offset)
{
	setup();
	return moved(fd, WRITE, next.pwrite(fd, data, size, offset));
}

ssize_t readv(int fd, const struct iovec *part, int parts)
{
	setup();
	return moved(fd, READ, next.readv(fd, part, parts));
}

ssize_t writev(int fd, const struct iovec *part, int parts)
{
	setup();
	return moved(fd, WRITE, next.writev(fd, part, parts));
}

int fsync(int fd)
{
	setup();
	if (is_slow(fd))
		serve(SYNC, 0);
	return next.fsync(fd);
}

int fdatasync(int fd)
{
	setup();
	if (is_slow(fd))
		serve(SYNC, 0);
	return next.fdatasync(fd);
}

/* The 64-bit names are the same functions here. */
int open64(const char *path, int flags, ...) __attribute__((alias("open")));
int openat64(int directory, const char *path, int flags, ...) __attribute__((alias("openat")));
ssize_t pread64(int fd, void *data, size_t size, off_t offset) __attribute__((alias("pread")));
ssize_t pwrite64(int fd, const void *data, size_t size, off_t offset)
	__attribute__((alias("pwrite")));
