/* Descriptors, and the open files that they stand for. No lock is held in here: signal handlers call it too. */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "old_libc.h"
#include "skin.h"

#define MAGIC       "fathom forward 1"
#define MEMORY_NAME "fathom-forward"

enum { ROW = 1024, ROWS = MOST_DESCRIPTORS / ROW, BLOCKS = MOST_FILES / ROW };

static const uint32_t closing = 1u << 31; /* of users: nobody gets it any more */

static struct {
	_Atomic(struct file *) *_Atomic rows[ROWS]; /* by descriptor */
	struct file *_Atomic blocks[BLOCKS];        /* all open files; never given back */
} files;

/* ---- tables that grow ---- */

static void *zeroed(void *_Atomic *place, size_t bytes)
{
	void *memory = atomic_load(place), *none = NULL;

	if (memory)
		return memory;
	memory = next_mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		return NULL;
	if (!atomic_compare_exchange_strong(place, &none, memory)) {
		munmap(memory, bytes);
		memory = none;
	}
	return memory;
}

static _Atomic(struct file *) *slot_of(int fd, bool make)
{
	_Atomic(struct file *) *row;

	if (fd < 0 || fd >= MOST_DESCRIPTORS)
		return NULL;
	row = atomic_load_explicit(&files.rows[fd / ROW], memory_order_acquire);
	if (!row && make)
		row = zeroed((void *_Atomic *)&files.rows[fd / ROW], ROW * sizeof(*row));
	return row ? &row[fd % ROW] : NULL;
}

static struct file *free_file(void)
{
	for (int b = 0; b < BLOCKS; b++) {
		struct file *block =
			zeroed((void *_Atomic *)&files.blocks[b], ROW * sizeof(*block));

		for (int i = 0; block && i < ROW; i++) {
			uint32_t none = 0;

			if (atomic_compare_exchange_strong(&block[i].users, &none, 1))
				return &block[i];
		}
	}
	return NULL;
}

/* ---- use ---- */

static bool take(struct file *f)
{
	uint32_t users = atomic_load(&f->users);

	while (users && users < closing)
		if (atomic_compare_exchange_weak(&f->users, &users, users + 1))
			return true;
	return false;
}

struct file *file_get(int fd)
{
	_Atomic(struct file *) *slot = slot_of(fd, false);
	struct file *f = slot && !asking() ? atomic_load(slot) : NULL;

	if (!f || !take(f))
		return NULL;
	if (atomic_load(slot) == f)
		return f;
	file_put(f); /* closed meanwhile */
	return NULL;
}

bool file_has(int fd)
{
	_Atomic(struct file *) *slot = slot_of(fd, false);

	return !asking() && ((slot && atomic_load(slot)) || is_private(fd));
}

/* Stands for all descriptors that are ours alone; it has no users, so nobody gets it. */
static struct file private_file;

bool file_is_private(int fd)
{
	_Atomic(struct file *) *slot = slot_of(fd, false);

	return slot && atomic_load(slot) == &private_file;
}

int file_private(int fd)
{
	uint32_t lowest = lowest_private();
	int raised = lowest ? next_fcntl(fd, F_DUPFD_CLOEXEC, lowest) : -1;
	_Atomic(struct file *) *slot;

	if (raised >= 0)
		next_close(fd);
	else
		raised = fd;
	slot = slot_of(raised, true);
	if (slot)
		atomic_store(slot, &private_file);
	return raised;
}

static void let_go(struct file *f)
{
	int before = errno, lock = atomic_exchange(&f->lock, 0);
	struct asking a;

	if (lock) {
		file_set(lock, NULL);
		next_close(lock);
	}
	if (atomic_load(&f->holder) == getpid() && !atomic_load(&f->borrowed)) {
		int error = asking_begin(&a, f->shared->path);

		asking_end(&a, error ? error
				     : fathom_fwd_release(a.client, &f->shared->handle, &a.hints));
	}
	if (f->shared)
		munmap(f->shared, sizeof(*f->shared));
	f->shared = NULL;
	atomic_store(&f->holder, 0);
	atomic_store(&f->users, 0);
	errno = before;
}

void file_put(struct file *f)
{
	uint32_t users = atomic_load(&f->users);

	while (!atomic_compare_exchange_weak(&f->users, &users, users == 1 ? closing : users - 1))
		;
	if (users == 1)
		let_go(f);
}

void file_set(int fd, struct file *f)
{
	_Atomic(struct file *) *slot = slot_of(fd, f != NULL);
	struct file *before;

	if (!slot) {
		if (f)
			file_put(f);
		return;
	}
	before = atomic_exchange(slot, f);
	if (before && before != &private_file)
		file_put(before);
}

void file_closed(int fd)
{
	struct file *f = file_get(fd);

	if (!f)
		return;
	file_set(fd, NULL);
	lock_closed(f);
	file_put(f);
}

void files_forget(unsigned int first, unsigned int last)
{
	last = last < MOST_DESCRIPTORS ? last : MOST_DESCRIPTORS - 1;
	for (unsigned int fd = first; fd <= last; fd++) {
		if (is_private((int)fd))
			continue;
		if (!atomic_load(&files.rows[fd / ROW]))
			fd |= ROW - 1;
		else
			file_closed((int)fd);
	}
}

/* ---- what processes share ---- */

static bool make_lock(pthread_mutex_t *lock)
{
	pthread_mutexattr_t kind;
	int error;

	pthread_mutexattr_init(&kind);
	pthread_mutexattr_setpshared(&kind, PTHREAD_PROCESS_SHARED);
	pthread_mutexattr_setrobust(&kind, PTHREAD_MUTEX_ROBUST);
	error = pthread_mutex_init(lock, &kind);
	pthread_mutexattr_destroy(&kind);
	return !error;
}

void file_lock(struct file *f)
{
	if (pthread_mutex_lock(&f->shared->lock) == EOWNERDEAD)
		pthread_mutex_consistent(&f->shared->lock); /* the position is as it was */
}

void file_unlock(struct file *f)
{
	pthread_mutex_unlock(&f->shared->lock);
}

static struct shared *map_shared(int fd)
{
	struct shared *s = next_mmap(NULL, sizeof(*s), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	return s == MAP_FAILED ? NULL : s;
}

/* The memory's descriptor becomes the program's, which can do nothing with it but keep it. */
static int close_up(int memory, int flags)
{
	char path[32];
	int fd;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", memory);
	fd = next_open(path, O_PATH | O_CLOEXEC, 0);
	if (fd < 0 || next_dup3(fd, memory, flags & O_CLOEXEC) < 0)
		return -1;
	next_close(fd);
	return memory;
}

static struct shared *new_shared(int memory)
{
	struct shared *s;

	if (memory < 0 || next_ftruncate(memory, sizeof(*s)))
		return NULL;
	s = map_shared(memory);
	if (!s)
		return NULL;
	memcpy(s->magic, MAGIC, sizeof(s->magic));
	if (random_bytes(&s->id, sizeof(s->id)) && make_lock(&s->lock))
		return s;
	munmap(s, sizeof(*s));
	return NULL;
}

/* By this process's client, now. */
static void file_is_opened(struct file *f)
{
	struct fathom_fwd *client = own_client();

	atomic_store(&f->epoch, client ? fathom_fwd_epoch(client) : 0);
	atomic_store(&f->errors, client ? fathom_fwd_errors(client) : 0);
}

int file_new(const struct fathom_fwd_handle *handle, const char *path, int flags,
	     const struct fathom_fwd_attr *attr, bool borrowed)
{
	int memory = memory_file(MEMORY_NAME, MFD_CLOEXEC);
	struct shared *s = new_shared(memory);
	struct file *f = s ? free_file() : NULL;

	if (!f || close_up(memory, flags) < 0) {
		int error = f || memory < 0 ? errno : ENFILE;

		if (memory >= 0)
			next_close(memory);
		errno = error;
		return -1;
	}
	s->flags = flags & ~(O_CLOEXEC | O_CREAT | O_EXCL | O_TRUNC | O_NOCTTY);
	s->handle = *handle;
	s->mode = attr->mode;
	s->dev = attr->dev;
	s->ino = attr->ino;
	s->birth = attr->birth;
	snprintf(s->path, sizeof(s->path), "%s", path);
	f->shared = s;
	f->inherited = false;
	atomic_store(&f->borrowed, borrowed);
	atomic_store(&f->holder, getpid());
	file_is_opened(f);
	file_set(memory, f);
	return memory;
}

bool file_path(int fd, char *path)
{
	struct file *f = file_get(fd);
	int length;

	if (!f)
		return false;
	length = snprintf(path, PATH_MAX, "%s%s%s", settings()->prefix[0].path,
			  *f->shared->path ? "/" : "", f->shared->path);
	file_put(f);
	return length < PATH_MAX;
}

/* ---- held at the server, by this process ---- */

static uint32_t how_opened(const struct shared *s)
{
	int access = s->flags & O_ACCMODE;
	uint32_t flags = S_ISDIR(s->mode) ? FATHOM_FWD_DIRECTORY : 0;

	flags |= access != O_WRONLY ? FATHOM_FWD_READ : 0;
	return flags | (access != O_RDONLY ? FATHOM_FWD_WRITE : 0);
}

/* By its name, if that still is this file. */
static bool open_again(struct asking *a, struct file *f)
{
	struct fathom_fwd_handle handle;

	if (fathom_fwd_open(a->client, NULL, f->shared->path, how_opened(f->shared), 0, &handle,
			    NULL, &a->hints))
		return false;
	if (!memcmp(&handle, &f->shared->handle, sizeof(handle))) {
		atomic_store(&f->borrowed, false);
		return true;
	}
	fathom_fwd_release(a->client, &handle, &a->hints);
	return false;
}

int file_hold(struct asking *a, struct file *f)
{
	pid_t self = getpid(), holder = atomic_load(&f->holder);
	uint64_t epoch;

	if (!a->client)
		return ENOTCONN;
	asking_about(a, &f->shared->handle, f->shared->path);
	epoch = fathom_fwd_epoch(a->client);
	if (holder == self && atomic_load(&f->epoch) == epoch) {
		a->file = f;
		return 0;
	}
	open_again(a, f); /* else it lives as long as the process that opened it */
	a->file = f;
	atomic_store(&f->epoch, epoch);
	if (holder != self)
		atomic_store(&f->errors, 0);
	atomic_store(&f->holder, self);
	return 0;
}

int file_asking(struct asking *a, struct file *f)
{
	int error = asking_begin(a, f->shared->path);

	return error ? error : file_hold(a, f);
}

/* ---- inherited ---- */

static bool is_placeholder(const char *path)
{
	static const char name[] = "/memfd:" MEMORY_NAME " ";
	char link[64];
	ssize_t n = syscall(SYS_readlinkat, AT_FDCWD, path, link, sizeof(link));

	return n >= (ssize_t)sizeof(name) && !memcmp(link, name, sizeof(name) - 1);
}

static struct shared *read_shared(const char *path)
{
	int memory = next_open(path, O_RDWR | O_CLOEXEC, 0);
	struct shared *s = NULL;

	if (memory < 0)
		return NULL;
	if (next_lseek(memory, 0, SEEK_END) == sizeof(*s))
		s = map_shared(memory);
	next_close(memory);
	if (s && (memcmp(s->magic, MAGIC, sizeof(s->magic)) || s->path[PATH_MAX - 1])) {
		munmap(s, sizeof(*s));
		return NULL;
	}
	return s;
}

/* Several descriptors may have the same open file. */
static struct file *known_file(const struct shared *s, int below)
{
	for (int fd = 0; fd < below; fd++) {
		struct file *f = file_get(fd);

		if (f && f->shared->id == s->id)
			return f;
		if (f)
			file_put(f);
	}
	return NULL;
}

static void inherit(int fd, const char *path)
{
	struct shared *s = read_shared(path);
	struct file *f = s ? known_file(s, fd) : NULL;

	if (f) {
		munmap(s, sizeof(*s));
	} else if (s) {
		f = free_file();
		f->shared = s;
		f->inherited = true;
		atomic_store(&f->borrowed, false);
		atomic_store(&f->holder, 0);
	}
	if (f)
		file_set(fd, f);
	if (f && f->shared->cwd)
		cwd_inherited(fd);
	streams_follow(fd);
}

void files_inherited(void)
{
	DIR *all = next_opendir("/proc/self/fd");
	const struct dirent *entry;
	char path[300];

	while (all && (entry = next_readdir(all))) {
		snprintf(path, sizeof(path), "/proc/self/fd/%s", entry->d_name);
		if (is_placeholder(path))
			inherit(atoi(entry->d_name), path);
	}
	if (all)
		next_closedir(all);
}

/* For the tracer: the file that a descriptor stands for, as the server has it. */
FATHOM_FWD_API bool fathom_fwd_about(int fd, struct statx *st);
bool fathom_fwd_about(int fd, struct statx *st)
{
	struct file *f = file_get(fd);
	const struct shared *s = f ? f->shared : NULL;

	if (!f)
		return false;
	st->stx_mask = STATX_TYPE | STATX_MODE | STATX_INO | (s->birth.seconds ? STATX_BTIME : 0);
	st->stx_mode = (uint16_t)s->mode;
	st->stx_dev_major = major(s->dev);
	st->stx_dev_minor = minor(s->dev);
	st->stx_ino = s->ino;
	st->stx_btime.tv_sec = s->birth.seconds;
	st->stx_btime.tv_nsec = s->birth.nanoseconds;
	file_put(f);
	return true;
}
