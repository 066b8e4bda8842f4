/* A traced process: its start, its end, and what fork, vfork and exec make of it. */
#include "core/hash.h"
#include "core/process.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "core/base.h"
#include "core/call.h"
#include "core/chunk.h"
#include "core/clock.h"
#include "core/config.h"
#include "core/descriptors.h"
#include "core/forget.h"
#include "core/libraries.h"
#include "core/ops.h"
#include "core/processors.h"
#include "core/ring.h"
#include "core/sites.h"
#include "core/state.h"
#include "core/stream.h"
#include "core/text.h"
#include "core/thread.h"
#include "core/layers.h"
#include "core/levels.h"
#include "core/raw.h"

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

struct process *process;

static struct control_page control_off = {.magic = "FATHOMCP"};
static struct control_page control_private = {.magic = "FATHOMCP", .version = 1, .size = PAGE};
struct control_page *control = &control_off;
static uint32_t forks; /* images up to here: a fork child raises its copy */

static bool control_shared;

bool control_is_private(void)
{
	return !control_shared;
}

void recording_off(void)
{
	control = &control_off;
	levels_off();
}

/* Set aside before the program limited itself: of memory that a fork wipes. */
static void *memory_aside(size_t bytes)
{
	const size_t pages = (bytes + PAGE - 1) & ~(size_t)(PAGE - 1);
	const size_t at = process ? atomic_fetch_add(&process->aside_used, pages) : 0;

	return process && at + pages <= process->quiet_bytes ? process->quiet_memory + at : NULL;
}

void *memory_get(size_t bytes, bool wipe_on_fork)
{
	long at;

	if (raw_closed())
		return memory_aside(bytes);
	at = raw6(SYS_mmap, 0, (long)bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		  0);

	if (at < 0 && at > -4096)
		return NULL;
	if (wipe_on_fork && raw3(SYS_madvise, at, (long)bytes, MADV_WIPEONFORK) != 0) {
		raw3(SYS_munmap, at, (long)bytes, 0); /* a child would write into our streams */
		return NULL;
	}
	return (void *)at;
}

void memory_wipe(void *at, size_t bytes)
{
	char *begin = at, *end = begin + bytes;
	char *first = (char *)(((uintptr_t)begin + PAGE - 1) & -(uintptr_t)PAGE);
	char *last = (char *)((uintptr_t)end & -(uintptr_t)PAGE);

	if (!at)
		return;
	if (last <= first || raw3(SYS_madvise, (long)first, last - first, MADV_DONTNEED) != 0) {
		memset(begin, 0, bytes);
		return;
	}
	memset(begin, 0, (size_t)(first - begin));
	memset(last, 0, (size_t)(end - last));
}

uint64_t random_id(void)
{
	uint64_t id = 0;

	if (raw3(SYS_getrandom, (long)&id, sizeof(id), 1 /* GRND_NONBLOCK */) != sizeof(id) || !id)
		id = ((ticks() ^ (process ? process->instance : 0)) * HASH_FACTOR ^
		      (uint64_t)raw3(SYS_gettid, 0, 0, 0) << 32) |
		     1;
	return id;
}

/* Of process_lock: the signal mask is as the program has it. No mask has the bits of SIGKILL and SIGSTOP. */
enum { NOT_BLOCKED = -1 };

bool process_locked_here(void)
{
	return process && atomic_load(&process->lock) == raw_thread();
}

uint64_t process_lock(void)
{
	const bool open = raw_enter();
	uint64_t all = ~0ull, old = (uint64_t)NOT_BLOCKED;
	void *nobody = NULL;

	if (open && raw_now(SYS_rt_sigprocmask, 2 /* SIG_SETMASK */, (long)&all, (long)&old,
			    sizeof(old), 0, 0) != 0) {
		old = (uint64_t)NOT_BLOCKED;
		raw_leave();
	}
	while (!atomic_compare_exchange_weak(&process->lock, &nobody, raw_thread())) {
		nobody = NULL;
		if (old != (uint64_t)NOT_BLOCKED)
			raw_now(SYS_sched_yield, 0, 0, 0, 0, 0, 0);
	}
	if (old != (uint64_t)NOT_BLOCKED)
		raw_allow();
	return old;
}

void process_unlock(uint64_t mask)
{
	const bool blocked = mask != (uint64_t)NOT_BLOCKED;

	if (blocked)
		raw_deny();
	atomic_store(&process->lock, NULL);
	if (!blocked)
		return;
	for (int tries = 0; tries < 3; tries++)
		if (raw_now(SYS_rt_sigprocmask, 2, (long)&mask, 0, sizeof(mask), 0, 0) == 0)
			break;
	raw_leave();
}

void join_path(char *out, const char *a, const char *b, const char *c)
{
	size_t n = out == a ? strlen(a) : text_copy(out, PATH_BYTES, a);

	n += text_copy(out + n, PATH_BYTES - n, b);
	text_copy(out + n, PATH_BYTES - n, c);
}

void numbered_path(char *out, const char *directory, const char *name, uint64_t number)
{
	char text[24];

	text_decimal(text, number);
	join_path(out, directory, name, text);
}

static void read_node(void)
{
	struct utsname node;

	if (raw_read_file("/proc/sys/kernel/random/boot_id", config.boot_id, 36) != 36)
		text_copy(config.boot_id, sizeof(config.boot_id), "unknown");
	text_copy(config.host, sizeof(config.host),
		  raw3(SYS_uname, (long)&node, 0, 0) == 0 ? node.nodename : "unknown");
}

/* A page takes the place of that of the run before: somebody may be about to look at it. */
static struct control_page *settle_control(long at)
{
	static struct control_page *place;

	if (place)
		raw6(SYS_mremap, at, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, (long)place, 0);
	else
		place = (struct control_page *)at;
	return place;
}

/* The node's shared control page, or a private one made from the environment. */
static void map_control(void)
{
	char path[PATH_BYTES];
	long fd, at = -1;

	join_path(path, config.ring, "/", "control");
	control = &control_private;
	control_shared = false;
	atomic_store(&control->gate, config.gate & LEVEL_CALL ? config.gate : 0);
	atomic_store(&control->budget, config.budget);
	if (!ring_is_own())
		return;
	fd = raw3(SYS_openat, AT_FDCWD, (long)path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd >= 0) {
		if (raw3(SYS_lseek, fd, 0, SEEK_END) >= PAGE) /* behind its end a look is SIGBUS */
			at = raw6(SYS_mmap, 0, PAGE, PROT_READ, MAP_SHARED, fd, 0);
		raw3(SYS_close, fd, 0, 0);
	}
	if (!(at < 0 && at > -4096) && memcmp((void *)at, "FATHOMCP", 8) == 0) {
		control = settle_control(at);
		control_shared = true;
	}
}

/* What is left of the run before, none of whose calls is recorded any more. */
static void forget_run(void)
{
	const uint64_t mask = process_lock();

	threads_stale();
	ring_forget();
	memset(&process->alive, 0, sizeof(*process) - offsetof(struct process, alive));
	objects_forget();
	names_forget();
	sites_forget();
	handles_forget();
	libraries_forget();
	shapes_forget();
	descriptor_close_range(0, FDS_PER_PAGE * FD_PAGES - 1);
	process_unlock(mask);
}

static void first_begin(void)
{
	raw_users_in(&process->raw_users);
	thread_begin();
}

static bool begin(const char *run)
{
	clock_begin(config_text("FATHOM_CLOCK"));
	config.start_ticks = ticks();
	config.start_ns = clock_ns();
	config_read(run);
	map_control();
	if (!(config.gate & LEVEL_CALL) && !control_shared && !config.tuned)
		return false; /* off, and nobody can turn it on */
	if (process)
		forget_run();
	else if ((process = memory_get(sizeof(*process), true)))
		first_begin();
	if (!process) {
		recording_off();
		return false;
	}
	config.start_use = thread_use(0);
	config.on = true;
	where_begin();
	levels_begin();
	return true;
}

static bool is_run(const char *run)
{
	return run && run[0] == '/' && strlen(run) <= PATH_BYTES - 256;
}

bool process_begin(void)
{
	const char *run = config_text("FATHOM_RUN");

	if (!is_run(run) || !program_is_traced())
		return false;
	return rank_is_traced() && begin(run);
}

bool process_begin_own(const char *run)
{
	run = run ? run : config_text("FATHOM_RUN");
	program_read();
	return is_run(run) && begin(run);
}

bool mapped_writes_wanted(void)
{
	return config.mmap_dirty;
}

static _Atomic(void (*)(void)) at_end;

void process_at_end(void (*act)(void))
{
	atomic_store(&at_end, act);
}

void process_started(void)
{
	struct thread *t;

	config.ready_ticks = ticks();
	t = atomic_load(&process->levels_unsaid) ? thread_claim() : NULL;
	if (!t)
		return;
	levels_say(t); /* what is to be recorded cannot be read */
	thread_release(t);
}

void process_patched(uint64_t began)
{
	struct thread *t = self && self->alive ? thread_claim() : NULL;

	if (!t)
		return; /* no stream yet: not worth making one */
	if (t->flush_began)
		stream_flush_row(t);
	if (!t->counting)
		stream_own_row(t, OP_PATCH, began, ticks(), 0);
	thread_release(t);
}

const char *process_tuned(void)
{
	return config.tuned;
}

uint32_t process_layers(void)
{
	return config.layers | (config.tuned ? TUNED_LAYERS : 0);
}

/* PID.INSTANCE in this folder. */
static void name_file(char *path, const char *folder)
{
	char pid[24], instance[17];

	text_decimal(pid, process->pid);
	text_hex(instance, process->instance);
	join_path(path, folder, "/", pid);
	join_path(path, path, ".", instance);
}

void name_stream(void)
{
	name_file(process->stream_path, config.streams);
	if (process->file_number)
		numbered_path(process->stream_path, process->stream_path, ".",
			      process->file_number);
	join_path(process->stream_path, process->stream_path, ".fts", "");
}

static void name_files(void)
{
	name_file(process->ring_path, config.ring);
	join_path(process->ring_path, process->ring_path, ".ring", "");
	join_path(config.streams, config.place, "/streams/", config.boot_id);
	join_path(config.streams, config.streams, "-", config.host);
	name_stream();
}

/* Slow path of every first event: the process's state does not exist yet, or a fork wiped it. */
bool process_ready(void)
{
	uint64_t mask;

	if (likely(process && process->alive))
		return true;
	if (!process)
		return false;
	if (raw_closed()) { /* a child of a program that limited itself */
		recording_off();
		return false;
	}
	mask = process_lock();
	if (!process->alive) {
		if (!config.boot_id[0])
			read_node();
		process->pid = (uint32_t)raw3(SYS_getpid, 0, 0, 0);
		process->instance = random_id();
		process->generation = ++forks;
		name_files();
		if (forks > 1)
			levels_new_image();
		barrier();
		process->alive = 1;
	}
	process_unlock(mask);
	return true;
}

/* Lock held. The first of them tells of the process's memory. */
static void write_threads(bool end)
{
	uint64_t peak = memory_peak(process->path, PATH_BYTES);

	for (struct thread *t = process->threads; t; t = t->next) {
		if (t->session != config.session)
			continue;
		thread_write_snapshot(t, end, peak);
		peak = 0;
	}
}

static void write_all(bool end)
{
	uint64_t mask = process_lock();

	write_threads(end);
	process_unlock(mask);
}

/* Another process, made by clone on our memory, ends or execs: that is none of our end. */
static bool in_other_process(void)
{
	return (uint32_t)raw3(SYS_getpid, 0, 0, 0) != process->pid;
}

/* In a run, and something of it was recorded. */
static bool is_recorded(void)
{
	return config.on && process && process->alive;
}

static void leave_vfork_child(void)
{
	if (!self->broken)
		stream_next_chunk(self, true);
}

/* Whoever finds that the process is gone brings in what is there, as of one that ended in order. */
static void leave_ring(void)
{
	if (process->ring && (raw_closed() || !process->stopped))
		atomic_store(&process->ring->ended, 1 | (uint32_t)process->write_error << 8);
}

static void end_quietly(void)
{
	struct thread *t = thread_claim();

	if (t) {
		thread_say_losses(t);
		thread_release(t);
	}
	recording_off();
	leave_ring();
}

void process_end(void)
{
	void (*act)(void);

	if (!is_recorded())
		return;
	if (in_vfork_child()) {
		leave_vfork_child();
		return;
	}
	if (raw_closed()) {
		end_quietly();
		return;
	}
	if (in_other_process())
		return;
	act = atomic_exchange(&at_end, NULL);
	if (act)
		act();
	recording_off();
	write_all(true);
	if (ring_stays())
		leave_ring();
	else
		ring_remove();
}

bool process_attach(const char *settings, bool own)
{
	bool began;

	if (config.on)
		return false;
	config_given(settings);
	began = own ? process_begin_own(NULL) : process_begin();
	config_given(NULL);
	return began;
}

static bool any_open(void)
{
	const uint64_t mask = process_lock();
	bool open = false;

	for (const struct thread *t = process->alive ? process->threads : NULL; t; t = t->next)
		open |= t->session == config.session && atomic_load(&t->page->depth);
	process_unlock(mask);
	return open;
}

/* Calls that have begun may end, so that they are told as a whole; not those that last. */
static void let_end(void)
{
	for (int tries = 0; tries < 50 && any_open(); tries++)
		raw_wait();
}

/* What a thread does meanwhile is written by it, into memory that is its own until it begins anew. */
bool process_detach(void)
{
	uint64_t mask;

	if (!config.on)
		return false;
	let_end();
	config.on = false;
	recording_off();
	mask = process_lock();
	if (process->alive)
		write_threads(true);
	config.session++;
	threads_stale();
	if (process->alive && !ring_stays())
		ring_remove();
	process->over = true;
	process_unlock(mask);
	return true;
}

const char *process_run(void)
{
	return config.on ? config.run : NULL;
}

/* Containers of a node have their own pids, and may share a place for rings. */
static uint64_t pid_namespace(void)
{
	struct stat space;

	return raw4(SYS_newfstatat, AT_FDCWD, (long)"/proc/self/ns/pid", (long)&space, 0) == 0
		       ? space.st_ino
		       : 0;
}

void exec_ring(char *path)
{
	char pid[24], space[24];

	text_decimal(pid, process->pid);
	text_decimal(space, pid_namespace());
	join_path(path, config.ring, "/", pid);
	join_path(path, path, ".", space);
	join_path(path, path, ".exec", "");
}

static void move_ring(const char *from, const char *to)
{
	if (process->ring && !ring_stays())
		raw4(SYS_renameat2, AT_FDCWD, (long)from, AT_FDCWD, (long)to);
}

void process_before_exec(void)
{
	uint64_t mask;

	if (!is_recorded())
		return;
	if (in_vfork_child()) {
		leave_vfork_child();
		return;
	}
	if (raw_closed() || in_other_process())
		return;
	write_all(false);
	mask = process_lock();
	exec_ring(process->path);
	move_ring(process->ring_path, process->path);
	process_unlock(mask);
}

void process_resume(void)
{
	uint64_t mask;

	if (!is_recorded() || in_vfork_child() || in_other_process())
		return;
	mask = process_lock();
	exec_ring(process->path);
	move_ring(process->path, process->ring_path);
	process_unlock(mask);
}
