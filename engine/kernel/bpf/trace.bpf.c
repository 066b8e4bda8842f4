/* What the kernel does for the processes of a run: pages that come into the page cache, requests to block devices, pauses of
 * writers, commits of journals. Each is one event of a ring; engine/kernel/src/event.rs reads them. */
#include "kernel.h"

enum { MOST_PROCESSES = 1 << 16, MOST_REQUESTS = 1 << 16, RING_BYTES = 32 << 20 };
enum { OP_MASK = 0xff, OP_READ = 0, OP_WRITE = 1, SECTOR_SHIFT = 9, ORDER_MASK = 0xff };
enum { TYPE_MASK = 0170000, BLOCK_DEVICE = 0060000 };

/* Numbers of docs/stream-format.md. */
enum kind { PAGES = 1, READ = 2, WRITE = 3, FLUSH = 4, OTHER = 5, THROTTLED = 6, COMMIT = 7 };

/* What a process of the run is asked for. */
enum followed { CHILDREN = 0, ALL = 1, NO_CALLS = 2 };

struct event {
	__u32 kind;
	__u32 process, thread; /* 0: of the node */
	__u32 device;          /* as the kernel has it: major << 20 | minor */
	__u64 began, ended;    /* CLOCK_MONOTONIC, ns */
	__u64 inode;
	__u64 at; /* pages: the first; requests: bytes; commits: the transaction; throttled: jiffies */
	__u64 bytes;  /* pages: how many */
	__u64 queued; /* of requests: ns before the device had it */
};

/* A bio that a process of the run made, and the request that it begins. */
struct request_of {
	__u32 kind, process, thread, device;
	__u64 began, issued, at, bytes;
};

/* The loader says whether system calls are asked for, and who asks; root may see everything. */
const volatile __u32 with_calls = 0, asked_by = 0;

/* Processes of the run; a number of `enum followed`. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MOST_PROCESSES);
	__type(key, __u32);
	__type(value, __u32);
} processes SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, MOST_REQUESTS);
	__type(key, __u64);
	__type(value, struct request_of);
} requests SEC(".maps");

/* When the commit of a journal began. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1024);
	__type(key, __u64);
	__type(value, __u64);
} commits SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, RING_BYTES);
} events SEC(".maps");

/* What is read of a system call, by its number; engine/kernel/src/calls.rs says it. */
enum { MOST_CALLS = 512, MOST_TEXT = 4096, MOST_SHORT = 256, MOST_VECTORS = 64 };
enum { OPENS = 2, ARGUMENTS = 8 }; /* six, and room for any place below a power of two */
struct wanted {
	__u8 wanted;                      /* 2: opens a file */
	__u8 path, to, vector, pair, how; /* places of arguments + 1; 0: has none */
	__u8 pointed[2];
	__u8 list; /* of enum list */
	__u8 unused;
};
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, MOST_CALLS);
	__type(key, __u32);
	__type(value, struct wanted);
} wanted_calls SEC(".maps");

/* The library's file, or the end of its name: a program that opens it is recorded by it. */
enum { MOST_LIBRARY = 256 };
struct library {
	__u32 length;
	char name[MOST_LIBRARY];
};
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct library);
} the_library SEC(".maps");

/* Many of these that a call's arguments point to. */
enum list { POSTED_BLOCKS = 1, FETCHED_EVENTS = 2, REGISTERED_FILES = 3 };

/* A system call, a fork or an exec, or that its library records a process; what io_uring and libaio are given and have
 * done; engine/kernel/src/calls.rs reads it. */
enum {
	CALL = 100,
	FORK = 101,
	EXEC = 102,
	RECORDED = 103,
	RING = 104,
	POST = 105,
	DONE = 106,
	POSTS = 107,
	FETCHED = 108
};
struct call {
	__u32 kind;
	__u32 process, thread;
	__u32 number;
	__u64 began, ended;
	__u64 arguments[ARGUMENTS]; /* fork: the child's thread, process, and what they share */
	__s64 result;
	__u64 pointed[2]; /* offsets in memory; a pipe's ends; openat2's flags; a vector's bytes */
	__u32 length, length_to;
	char path[MOST_TEXT], to[MOST_TEXT]; /* exec: the program, its words */
};

/* Of calls that have begun, by thread. */
struct entered {
	__u64 began;
	__u64 arguments[ARGUMENTS];
	__u32 number;
};
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MOST_PROCESSES);
	__type(key, __u32);
	__type(value, struct entered);
} entered SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct call);
} scratch SEC(".maps");

/* Events that the ring had no room for; processes that had none among `processes`; requests whose end was not told. */
enum { NO_ROOM = 0, NOT_FOLLOWED = 1, NO_END = 2 };
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 3);
	__type(key, __u32);
	__type(value, __u64);
} lost SEC(".maps");

static void count_lost(__u32 what)
{
	__u64 *count = bpf_map_lookup_elem(&lost, &what);

	if (count)
		__sync_fetch_and_add(count, 1);
}

static struct event *event_begin(__u32 kind)
{
	struct event *event = bpf_ringbuf_reserve(&events, sizeof(*event), 0);

	if (!event) {
		count_lost(NO_ROOM);
		return NULL;
	}
	__builtin_memset(event, 0, sizeof(*event));
	event->kind = kind;
	event->began = event->ended = bpf_ktime_get_ns();
	return event;
}

static bool of_run(__u64 process_and_thread)
{
	__u32 process = process_and_thread >> 32;
	__u32 *known = bpf_map_lookup_elem(&processes, &process);

	return known && *known;
}

static struct call *call_begin(__u32 kind)
{
	__u32 first = 0;
	struct call *call = bpf_map_lookup_elem(&scratch, &first);
	__u64 who = bpf_get_current_pid_tgid();

	if (!call)
		return NULL;
	__builtin_memset(call, 0, __builtin_offsetof(struct call, path));
	call->kind = kind;
	call->process = who >> 32;
	call->thread = (__u32)who;
	call->began = call->ended = bpf_ktime_get_ns();
	return call;
}

/* As much of it as is used. */
static void call_say(struct call *call)
{
	__u64 size = __builtin_offsetof(struct call, path);

	if (call->length_to)
		size = sizeof(*call);
	else if (call->length > MOST_SHORT)
		size = __builtin_offsetof(struct call, to);
	else if (call->length)
		size += MOST_SHORT;
	if (bpf_ringbuf_output(&events, call, size, BPF_RB_NO_WAKEUP))
		count_lost(NO_ROOM);
}

/* With the zero at its end; 0: it could not be read. */
static __u32 read_length(long got)
{
	return got > 0 ? (__u32)got : 0;
}

static void say_fork(struct task_struct *parent, struct task_struct *child)
{
	struct call *call = call_begin(FORK);

	if (!call)
		return;
	call->arguments[0] = BPF_CORE_READ(child, pid);
	call->arguments[1] = BPF_CORE_READ(child, tgid);
	call->arguments[2] = BPF_CORE_READ(parent, files) == BPF_CORE_READ(child, files);
	call->arguments[3] = BPF_CORE_READ(parent, fs) == BPF_CORE_READ(child, fs);
	call_say(call);
}

static void say_exec(struct task_struct *task, struct linux_binprm *program)
{
	struct call *call = call_begin(EXEC);
	__u64 start = BPF_CORE_READ(task, mm, arg_start), length;

	if (!call)
		return;
	length = BPF_CORE_READ(task, mm, arg_end) - start;
	call->length = read_length(bpf_probe_read_kernel_str(call->path, sizeof(call->path),
							     BPF_CORE_READ(program, filename)));
	if (length > MOST_TEXT - 1)
		length = MOST_TEXT - 1;
	if (bpf_probe_read_user(call->to, length, (void *)start) == 0)
		call->length_to = length;
	call_say(call);
}

SEC("raw_tp/sched_process_fork")
int process_forked(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *parent = (void *)ctx->args[0], *child = (void *)ctx->args[1];
	__u32 from = BPF_CORE_READ(parent, tgid), process = BPF_CORE_READ(child, tgid);
	__u32 *known = bpf_map_lookup_elem(&processes, &from), followed;

	if (!known)
		return 0;
	followed = *known != CHILDREN ? *known : with_calls ? ALL : NO_CALLS;
	if (from != process && bpf_map_update_elem(&processes, &process, &followed, BPF_ANY))
		count_lost(NOT_FOLLOWED);
	if (followed == ALL)
		say_fork(parent, child);
	return 0;
}

static bool is_others(struct task_struct *task)
{
	return asked_by && (BPF_CORE_READ(task, cred, uid.val) != asked_by ||
			    BPF_CORE_READ(task, cred, euid.val) != asked_by);
}

/* Another program: who records it is to be seen again. With rights of somebody else's it is none of who asks. */
SEC("raw_tp/sched_process_exec")
int process_execs(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *task = (void *)ctx->args[0];
	struct linux_binprm *program = (void *)ctx->args[2];
	__u32 process = BPF_CORE_READ(task, tgid), thread = BPF_CORE_READ(task, pid), all = ALL;
	__u32 *known = bpf_map_lookup_elem(&processes, &process);

	if (!known || *known == CHILDREN)
		return 0;
	if (is_others(task)) {
		bpf_map_delete_elem(&processes, &process);
		return 0;
	}
	if (!with_calls)
		return 0;
	bpf_map_update_elem(&processes, &process, &all, BPF_ANY);
	bpf_map_delete_elem(&entered, &thread);
	say_exec(task, program);
	return 0;
}

SEC("raw_tp/sched_process_exit")
int process_exited(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *task = (void *)ctx->args[0];
	__u32 process = BPF_CORE_READ(task, tgid), thread = BPF_CORE_READ(task, pid);

	if (!bpf_map_lookup_elem(&processes, &process))
		return 0;
	bpf_map_delete_elem(&entered, &thread);
	if (BPF_CORE_READ(task, signal, live.counter) == 0)
		bpf_map_delete_elem(&processes, &process);
	return 0;
}

/* Metadata of a file system lies in the pages of its device. */
static void add_file(struct event *event, struct inode *inode)
{
	if ((BPF_CORE_READ(inode, i_mode) & TYPE_MASK) == BLOCK_DEVICE) {
		event->device = BPF_CORE_READ(inode, i_rdev);
		return;
	}
	event->device = BPF_CORE_READ(inode, i_sb, s_dev);
	event->inode = BPF_CORE_READ(inode, i_ino);
}

static __u64 pages_of(struct folio *folio)
{
	struct folio___until_6_5 *old = (void *)folio;
	__u64 flags = 0;

	bpf_probe_read_kernel(&flags, sizeof(flags), folio); /* they come first in every kernel */
	if (!(flags >> bpf_core_enum_value(enum pageflags, PG_head) & 1))
		return 1;
	if (bpf_core_field_exists(old->_folio_order))
		return 1ull << (BPF_CORE_READ(old, _folio_order) & 63);
	return 1ull << (BPF_CORE_READ(folio, _flags_1) & ORDER_MASK & 63);
}

SEC("raw_tp/mm_filemap_add_to_page_cache")
int pages_added(struct bpf_raw_tracepoint_args *ctx)
{
	struct folio *folio = (void *)ctx->args[0];
	__u64 who = bpf_get_current_pid_tgid();
	struct event *event = of_run(who) ? event_begin(PAGES) : NULL;

	if (!event)
		return 0;
	event->process = who >> 32;
	event->thread = (__u32)who;
	event->at = BPF_CORE_READ(folio, index);
	event->bytes = pages_of(folio);
	add_file(event, BPF_CORE_READ(folio, mapping, host));
	bpf_ringbuf_submit(event, BPF_RB_NO_WAKEUP);
	return 0;
}

static __u32 kind_of(struct bio *bio)
{
	__u32 flags = BPF_CORE_READ(bio, bi_opf), op = flags & OP_MASK;

	if (op == OP_READ)
		return READ;
	if (op != OP_WRITE)
		return OTHER;
	if (BPF_CORE_READ(bio, bi_iter.bi_size) == 0 &&
	    flags >> bpf_core_enum_value(enum req_flag_bits, __REQ_PREFLUSH) & 1)
		return FLUSH;
	return WRITE;
}

static void request_done(__u64 key, struct request_of *request)
{
	struct event *event = event_begin(request->kind);

	if (event) {
		event->process = request->process;
		event->thread = request->thread;
		event->device = request->device;
		event->began = request->began;
		event->at = request->at;
		event->bytes = request->bytes;
		event->queued =
			request->issued > request->began ? request->issued - request->began : 0;
		bpf_ringbuf_submit(event, BPF_RB_NO_WAKEUP);
	}
	bpf_map_delete_elem(&requests, &key);
}

/* In the thread that asks for it. Where its address was another's whose end was not told (a machine may run no BPF
 * programs while processes of its own are interrupted), that has ended by now. */
static int bio_made(__u64 key)
{
	__u64 who = bpf_get_current_pid_tgid();
	struct bio *bio = (void *)key;
	struct request_of request = {0}, *before = bpf_map_lookup_elem(&requests, &key);

	if (before && before->issued) {
		count_lost(NO_END);
		request_done(key, before);
	}
	if (!of_run(who)) {
		bpf_map_delete_elem(&requests, &key);
		return 0;
	}
	request.kind = kind_of(bio);
	request.process = who >> 32;
	request.thread = (__u32)who;
	request.device = BPF_CORE_READ(bio, bi_bdev, bd_dev);
	request.began = bpf_ktime_get_ns();
	bpf_map_update_elem(&requests, &key, &request, BPF_ANY);
	return 0;
}

SEC("raw_tp/block_bio_queue")
int bio_queued(struct bpf_raw_tracepoint_args *ctx)
{
	return bio_made(ctx->args[0]);
}

/* One that is too large: its first part, as a new one. */
SEC("raw_tp/block_split")
int bio_split(struct bpf_raw_tracepoint_args *ctx)
{
	return bio_made(ctx->args[0]);
}

SEC("raw_tp/block_rq_issue")
int request_issued(struct bpf_raw_tracepoint_args *ctx)
{
	struct request *rq = (void *)ctx->args[0];
	__u64 key = (__u64)BPF_CORE_READ(rq, bio);
	struct request_of *request = key ? bpf_map_lookup_elem(&requests, &key) : NULL;

	if (!request)
		return 0;
	request->issued = bpf_ktime_get_ns();
	request->at = BPF_CORE_READ(rq, __sector) << SECTOR_SHIFT;
	request->bytes = BPF_CORE_READ(rq, __data_len);
	return 0;
}

/* A device may complete a request in parts: with the last, all that is left is done. */
SEC("raw_tp/block_rq_complete")
int request_completed(struct bpf_raw_tracepoint_args *ctx)
{
	struct request *rq = (void *)ctx->args[0];
	__u64 key = (__u64)BPF_CORE_READ(rq, bio);
	struct request_of *request = key ? bpf_map_lookup_elem(&requests, &key) : NULL;

	if (request && request->issued && (__u32)ctx->args[2] >= BPF_CORE_READ(rq, __data_len))
		request_done(key, request);
	return 0;
}

/* A flush alone is no request of its own: several share one. */
SEC("raw_tp/block_bio_complete")
int bio_completed(struct bpf_raw_tracepoint_args *ctx)
{
	__u64 key = ctx->args[1];
	struct request_of *request = bpf_map_lookup_elem(&requests, &key);

	if (request && request->kind == FLUSH)
		request_done(key, request);
	return 0;
}

static int throttled(long pause)
{
	__u64 who = bpf_get_current_pid_tgid();
	struct event *event = pause > 0 && of_run(who) ? event_begin(THROTTLED) : NULL;

	if (!event)
		return 0;
	event->process = who >> 32;
	event->thread = (__u32)who;
	event->at = pause;
	bpf_ringbuf_submit(event, BPF_RB_NO_WAKEUP);
	return 0;
}

/* The pause is the argument before the last. Where a kernel has fewer, the first of these does not attach. */
SEC("raw_tp/balance_dirty_pages")
int throttled_12(struct bpf_raw_tracepoint_args *ctx)
{
	return throttled((long)ctx->args[10]);
}

SEC("raw_tp/balance_dirty_pages")
int throttled_8(struct bpf_raw_tracepoint_args *ctx)
{
	return throttled((long)ctx->args[6]);
}

static int commit_begins(__u64 of)
{
	__u64 now = bpf_ktime_get_ns();

	bpf_map_update_elem(&commits, &of, &now, BPF_ANY);
	return 0;
}

static int commit_ends(__u64 of, __u32 device, __u32 transaction)
{
	__u64 *began = bpf_map_lookup_elem(&commits, &of);
	struct event *event = began ? event_begin(COMMIT) : NULL;

	if (!event)
		return 0;
	event->began = *began;
	event->device = device;
	event->at = transaction;
	bpf_ringbuf_submit(event, BPF_RB_NO_WAKEUP);
	return 0;
}

SEC("raw_tp/jbd2_start_commit")
int commit_began(struct bpf_raw_tracepoint_args *ctx)
{
	return commit_begins(ctx->args[0]);
}

SEC("raw_tp/jbd2_end_commit")
int commit_ended(struct bpf_raw_tracepoint_args *ctx)
{
	struct journal_s *journal = (void *)ctx->args[0];
	struct transaction_s *transaction = (void *)ctx->args[1];

	return commit_ends(ctx->args[0], BPF_CORE_READ(journal, j_fs_dev, bd_dev),
			   BPF_CORE_READ(transaction, t_tid));
}

/* ext4's fast commits, in the thread that syncs. */
SEC("raw_tp/ext4_fc_commit_start")
int fast_commit_began(struct bpf_raw_tracepoint_args *ctx)
{
	return commit_begins(ctx->args[0]);
}

SEC("raw_tp/ext4_fc_commit_stop")
int fast_commit_ended(struct bpf_raw_tracepoint_args *ctx)
{
	struct super_block *file_system = (void *)ctx->args[0];

	return commit_ends(ctx->args[0], BPF_CORE_READ(file_system, s_dev), (__u32)ctx->args[3]);
}

#include "calls.h"
#include "rings.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";
