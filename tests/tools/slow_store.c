/* A slow file system on demand: a preload library that delays reads, writes, syncs, opens and what is done to names.
 *
 *	SLOW_STORE_LATENCY_US   added to each operation (default 0)
 *	SLOW_STORE_RATE_MB      MB/s of reads and writes together, 10^6 bytes (default unlimited)
 *	SLOW_STORE_UNDER        only descriptors opened below this path (default all)
 *	SLOW_STORE_SERVERS      several stores, each with a queue of its own, instead of these three:
 *	                        PATH=LATENCY_US:RATE_MB;PATH=…; a path belongs to the first that fits
 *	SLOW_STORE_ONLY         comma-separated operations: open,read,write,sync,meta (default all)
 *	SLOW_STORE_QUEUE        file in which the queues lie: all processes that name it, of whatever
 *	                        run, wait in the same ones, so give them the same stores (default: each
 *	                        process has its own, as if the store had room for all)
 *	SLOW_STORE_AT_ONCE      1: a store has room for all requests at once, those of threads as well
 *	SLOW_STORE_RANK         RANK:FACTOR, the MPI rank that waits FACTOR times as long
 *	SLOW_STORE_SEEK_US      added to a read or write that does not begin where the descriptor's last one ended
 *	SLOW_STORE_PARTIAL_US   added to a read or write that does not begin and end at multiples of SLOW_STORE_BLOCK
 *	SLOW_STORE_LOCK_US      added to a write for each of its first and last block that another process wrote last:
 *	                        a lock that has to be called back; needs SLOW_STORE_LOCKS
 *	SLOW_STORE_STRIPE       COUNT:NUMBER:MORE_US, added to an access of the first store that begins in this one of so many
 *	                        stripes, which are SLOW_STORE_BLOCK long
 *	SLOW_STORE_BLOCK        bytes (default 4096)
 *	SLOW_STORE_LOCKS        file that processes share, made when it is not there: who wrote a block last
 *
 * Asynchronous requests of POSIX block when they are posted, as where a kernel or file system cannot do otherwise.
 * Streams of C are as slow as the system calls below them: their bytes are those by which the descriptor moved.
 *
 * At exit it prints "slow_store: N operations, B bytes" to the file SLOW_STORE_REPORT names, appended:
 * proof that it was reached when other preload tools are above or below it. It is a plain preload
 * tool on purpose: it exports the symbols and asks dlsym(RTLD_NEXT) for the next ones. */
#define _GNU_SOURCE
#include <aio.h>
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
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum kind { OPEN, READ, WRITE, SYNC, META, KINDS };
static const char *const kind_names[KINDS] = {"open", "read", "write", "sync", "meta"};

enum { DESCRIPTORS = 4096, SERVERS = 16, LOCKS = 1 << 18 };

struct server {
	const char *under; /* NULL: everything */
	size_t length;
	double latency_ns;
	double ns_per_byte;
};

/* Written once by setup(); `server_of` by opens and closes, the queues and the counts by all. */
static struct {
	struct server servers[SERVERS];
	int count;
	double factor; /* what this rank waits for each second of others */
	bool on[KINDS];
	bool at_once;
	_Atomic uint8_t server_of[DESCRIPTORS]; /* one more than its number, 0: none */
	double seek_ns, partial_ns, lock_ns;
	double stripe_ns;          /* of accesses in the slow stripe */
	long stripes, slow_stripe; /* how many there are, which is slow */
	long block;
	_Atomic int64_t ended_at[DESCRIPTORS]; /* where the last read or write did */
	_Atomic int *writer; /* of a block, by hash: the process that wrote it last */
	_Atomic int64_t own_queue[SERVERS];
	_Atomic int64_t *busy_until; /* CLOCK_MONOTONIC ns: a store serves one request at a time */
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
	int (*aio_read)(struct aiocb *);
	int (*aio_write)(struct aiocb *);
	int (*fsync)(int);
	int (*fdatasync)(int);
	int (*stat)(const char *, struct stat *);
	int (*lstat)(const char *, struct stat *);
	int (*unlink)(const char *);
	int (*mkdir)(const char *, mode_t);
	int (*rename)(const char *, const char *);
	FILE *(*fopen)(const char *, const char *);
	size_t (*fread)(void *, size_t, size_t, FILE *);
	size_t (*fwrite)(const void *, size_t, size_t, FILE *);
	int (*vfprintf)(FILE *, const char *, va_list);
	int (*fflush)(FILE *);
	int (*fclose)(FILE *);
} next;

static void *find(const char *name)
{
	void *symbol = dlsym(RTLD_NEXT, name);

	if (!symbol)
		abort(); /* libc without a libc function */
	return symbol;
}

static void add_server(const char *under, size_t length, double latency_us, double rate_mb)
{
	if (store.count == SERVERS)
		return;
	store.servers[store.count++] =
		(struct server){under, length, latency_us * 1000, rate_mb > 0 ? 1e3 / rate_mb : 0};
}

/* PATH=LATENCY_US:RATE_MB;… */
static void add_servers(const char *list)
{
	while (list) {
		const char *equals = strchr(list, '=');
		const char *colon = equals ? strchr(equals, ':') : NULL;

		if (!colon)
			break;
		add_server(list, (size_t)(equals - list), atof(equals + 1), atof(colon + 1));
		list = strchr(colon, ';');
		list += list != NULL;
	}
}

/* COUNT:NUMBER:MORE_US */
static void add_stripe(const char *text)
{
	double more_us = 0;

	if (text && sscanf(text, "%ld:%ld:%lf", &store.stripes, &store.slow_stripe, &more_us) == 3)
		store.stripe_ns = more_us * 1000;
}

static double number_of(const char *name)
{
	const char *text = getenv(name);

	return text ? atof(text) : 0;
}

/* How much longer this process waits than others. */
static double factor_of_rank(void)
{
	const char *slow = getenv("SLOW_STORE_RANK");
	const char *rank = getenv("PMI_RANK");
	const char *colon = slow ? strchr(slow, ':') : NULL;

	if (!rank)
		rank = getenv("OMPI_COMM_WORLD_RANK");
	return colon && rank && atoi(rank) == atoi(slow) ? atof(colon + 1) : 1;
}

/* Memory of all who name this file; NULL without one, or when it cannot be had. */
static void *shared(const char *path, size_t bytes)
{
	int fd = path ? next.open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600) : -1;
	void *mapped = MAP_FAILED;

	if (fd >= 0 && !ftruncate(fd, (off_t)bytes))
		mapped = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (fd >= 0)
		next.close(fd);
	return mapped == MAP_FAILED ? NULL : mapped;
}

__attribute__((constructor)) static void setup(void)
{
	const char *servers = getenv("SLOW_STORE_SERVERS");
	const char *under = getenv("SLOW_STORE_UNDER");
	const char *only = getenv("SLOW_STORE_ONLY");

	if (next.open)
		return;
	if (servers)
		add_servers(servers);
	else
		add_server(under, under ? strlen(under) : 0, number_of("SLOW_STORE_LATENCY_US"),
			   number_of("SLOW_STORE_RATE_MB"));
	store.factor = factor_of_rank();
	store.at_once = number_of("SLOW_STORE_AT_ONCE") != 0;
	store.seek_ns = number_of("SLOW_STORE_SEEK_US") * 1000;
	store.partial_ns = number_of("SLOW_STORE_PARTIAL_US") * 1000;
	store.lock_ns = number_of("SLOW_STORE_LOCK_US") * 1000;
	add_stripe(getenv("SLOW_STORE_STRIPE"));
	store.block = getenv("SLOW_STORE_BLOCK") ? (long)number_of("SLOW_STORE_BLOCK") : 4096;
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
	next.aio_read = find("aio_read");
	next.aio_write = find("aio_write");
	next.fsync = find("fsync");
	next.fdatasync = find("fdatasync");
	next.stat = find("stat");
	next.lstat = find("lstat");
	next.unlink = find("unlink");
	next.mkdir = find("mkdir");
	next.rename = find("rename");
	next.fopen = find("fopen");
	next.fread = find("fread");
	next.fwrite = find("fwrite");
	next.vfprintf = find("vfprintf");
	next.fflush = find("fflush");
	next.fclose = find("fclose");
	next.open = find("open");
	store.busy_until = shared(getenv("SLOW_STORE_QUEUE"), sizeof(store.own_queue));
	if (!store.busy_until)
		store.busy_until = store.own_queue;
	store.writer = shared(getenv("SLOW_STORE_LOCKS"), LOCKS * sizeof(*store.writer));
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

/* Waits as long as a store with one queue would: after what was asked for before, unless it serves all at once. */
static void serve(int number, enum kind kind, size_t bytes, double more_ns)
{
	int saved = errno;
	const struct server *to = &store.servers[number];
	int64_t cost = (int64_t)((to->latency_ns + more_ns + (double)bytes * to->ns_per_byte) *
				 store.factor);

	store.operations++;
	store.bytes += bytes;
	if (store.on[kind] && cost > 0) {
		int64_t arrived = now();
		_Atomic int64_t *queue = &store.busy_until[number];
		int64_t before = atomic_load(queue);
		int64_t end;
		do
			end = (before > arrived && !store.at_once ? before : arrived) + cost;
		while (!atomic_compare_exchange_weak(queue, &before, end));
		struct timespec until = {end / 1000000000, end % 1000000000};
		while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
			;
	}
	errno = saved;
}

/* The server of a path, -1: none. */
static int server_of(const char *path)
{
	for (int i = 0; i < store.count; i++) {
		const struct server *one = &store.servers[i];

		if (!one->under || !strncmp(path, one->under, one->length))
			return i;
	}
	return -1;
}

/* The server of a descriptor, -1: none. One for everything has those too that nobody opened here. */
static int server(int fd)
{
	if (store.count == 1 && !store.servers[0].under)
		return 0;
	return fd >= 0 && fd < DESCRIPTORS ? atomic_load(&store.server_of[fd]) - 1 : -1;
}

static int opened(int fd, const char *path)
{
	int number = server_of(path);

	if (fd >= 0 && fd < DESCRIPTORS) {
		atomic_store(&store.server_of[fd], (uint8_t)(number + 1));
		atomic_store(&store.ended_at[fd], 0);
	}
	if (number >= 0)
		serve(number, OPEN, 0, 0);
	return fd;
}

static mode_t mode_of(int flags, va_list list)
{
	return (flags & O_CREAT) || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(list, mode_t) : 0;
}

/* Is the lock of this block with another process? From here on it is with this one. */
static bool called_back(int fd, int64_t block)
{
	struct stat file;

	if (fstat(fd, &file))
		return false;
	uint64_t hash = ((uint64_t)file.st_ino * 1000003 + (uint64_t)block) * 0x9e3779b97f4a7c15u;
	int before = atomic_exchange(&store.writer[(hash >> 32) % LOCKS], getpid());
	return before != 0 && before != getpid();
}

/* What an access costs for where it lies; `offset` < 0: where the descriptor stood. */
static double placed(int fd, enum kind kind, size_t bytes, off_t offset)
{
	double cost = 0;
	int saved = errno;

	if (!(store.seek_ns || store.partial_ns || store.lock_ns || store.stripe_ns) ||
	    fd >= DESCRIPTORS || !bytes)
		return 0;
	if (offset < 0)
		offset = lseek(fd, 0, SEEK_CUR) - (off_t)bytes;
	off_t end = offset + (off_t)bytes;
	if (atomic_exchange(&store.ended_at[fd], end) != offset)
		cost += store.seek_ns;
	if (offset % store.block || end % store.block)
		cost += store.partial_ns;
	if (store.stripe_ns && !server(fd) &&
	    offset / store.block % store.stripes == store.slow_stripe)
		cost += store.stripe_ns;
	if (kind == WRITE && store.lock_ns && store.writer) {
		int64_t first = offset / store.block, last = (end - 1) / store.block;

		cost += called_back(fd, first) * store.lock_ns;
		cost += (last != first && called_back(fd, last)) * store.lock_ns;
	}
	errno = saved;
	return cost;
}

static ssize_t moved(int fd, enum kind kind, ssize_t bytes, off_t offset)
{
	int number = server(fd);
	size_t done = bytes > 0 ? (size_t)bytes : 0;

	if (number >= 0)
		serve(number, kind, done, placed(fd, kind, done, offset));
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
		atomic_store(&store.server_of[fd], 0);
	return next.close(fd);
}

ssize_t read(int fd, void *data, size_t size)
{
	setup();
	return moved(fd, READ, next.read(fd, data, size), -1);
}

ssize_t write(int fd, const void *data, size_t size)
{
	setup();
	return moved(fd, WRITE, next.write(fd, data, size), -1);
}

ssize_t pread(int fd, void *data, size_t size, off_t offset)
{
	setup();
	return moved(fd, READ, next.pread(fd, data, size, offset), offset);
}

ssize_t pwrite(int fd, const void *data, size_t size, off_t offset)
{
	setup();
	return moved(fd, WRITE, next.pwrite(fd, data, size, offset), offset);
}

ssize_t readv(int fd, const struct iovec *part, int parts)
{
	setup();
	return moved(fd, READ, next.readv(fd, part, parts), -1);
}

ssize_t writev(int fd, const struct iovec *part, int parts)
{
	setup();
	return moved(fd, WRITE, next.writev(fd, part, parts), -1);
}

int aio_read(struct aiocb *block)
{
	setup();
	int result = next.aio_read(block);
	moved(block->aio_fildes, READ, result ? 0 : (ssize_t)block->aio_nbytes, block->aio_offset);
	return result;
}

int aio_write(struct aiocb *block)
{
	setup();
	int result = next.aio_write(block);
	moved(block->aio_fildes, WRITE, result ? 0 : (ssize_t)block->aio_nbytes, block->aio_offset);
	return result;
}

int fsync(int fd)
{
	setup();
	return (int)moved(fd, SYNC, next.fsync(fd), 0);
}

int fdatasync(int fd)
{
	setup();
	return (int)moved(fd, SYNC, next.fdatasync(fd), 0);
}

static int named(const char *path, int result)
{
	int number = server_of(path);

	if (number >= 0)
		serve(number, META, 0, 0);
	return result;
}

int stat(const char *path, struct stat *out)
{
	setup();
	return named(path, next.stat(path, out));
}

int lstat(const char *path, struct stat *out)
{
	setup();
	return named(path, next.lstat(path, out));
}

int unlink(const char *path)
{
	setup();
	return named(path, next.unlink(path));
}

int mkdir(const char *path, mode_t mode)
{
	setup();
	return named(path, next.mkdir(path, mode));
}

int rename(const char *from, const char *to)
{
	setup();
	return named(from, next.rename(from, to));
}

FILE *fopen(const char *path, const char *mode)
{
	setup();
	FILE *stream = next.fopen(path, mode);
	opened(stream ? fileno(stream) : -1, path);
	return stream;
}

static off_t position(FILE *stream)
{
	int saved = errno;
	off_t at = lseek(fileno(stream), 0, SEEK_CUR);

	errno = saved;
	return at;
}

/* What the descriptor below a stream moved since it stood at `before`, in one or more system calls that cost as one. */
static void streamed(FILE *stream, enum kind kind, off_t before)
{
	off_t bytes = before < 0 ? 0 : position(stream) - before;

	if (bytes > 0)
		moved(fileno(stream), kind, bytes, before);
}

size_t fread(void *data, size_t size, size_t count, FILE *stream)
{
	setup();
	off_t before = position(stream);
	size_t done = next.fread(data, size, count, stream);
	streamed(stream, READ, before);
	return done;
}

size_t fwrite(const void *data, size_t size, size_t count, FILE *stream)
{
	setup();
	off_t before = position(stream);
	size_t done = next.fwrite(data, size, count, stream);
	streamed(stream, WRITE, before);
	return done;
}

int vfprintf(FILE *stream, const char *format, va_list list)
{
	setup();
	off_t before = position(stream);
	int done = next.vfprintf(stream, format, list);
	streamed(stream, WRITE, before);
	return done;
}

int fprintf(FILE *stream, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	int done = vfprintf(stream, format, list);
	va_end(list);
	return done;
}

int fflush(FILE *stream)
{
	setup();
	off_t before = stream ? position(stream) : -1;
	int result = next.fflush(stream);
	if (stream)
		streamed(stream, WRITE, before);
	return result;
}

int fclose(FILE *stream)
{
	setup();
	int fd = fileno(stream);
	fflush(stream);
	if (fd >= 0 && fd < DESCRIPTORS)
		atomic_store(&store.server_of[fd], 0);
	return next.fclose(stream);
}

/* The 64-bit names are the same functions here. */
FILE *fopen64(const char *path, const char *mode) __attribute__((alias("fopen")));
int open64(const char *path, int flags, ...) __attribute__((alias("open")));
int openat64(int directory, const char *path, int flags, ...) __attribute__((alias("openat")));
ssize_t pread64(int fd, void *data, size_t size, off_t offset) __attribute__((alias("pread")));
ssize_t pwrite64(int fd, const void *data, size_t size, off_t offset)
	__attribute__((alias("pwrite")));
