/* The runtime's own structures. Private to runtime/core. */
#ifndef FATHOM_CORE_H
#define FATHOM_CORE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/call.h"
#include "core/raw.h"

#define likely(x)   __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)
#define barrier()   __asm__ volatile("" ::: "memory")

enum {
	PAGE = 4096,
	CHUNK_BYTES = 65536,
	CHUNK_HEADER = 192,
	CHUNKS_PER_THREAD = 16, /* 1 MiB, then they are written out */
	RING_CHUNKS = 1024,     /* per process: 64 MiB; a thread's first chunk may be one more */
	ROW_ROOM = 512,         /* more than any row and its op record */
	SCRATCH = 16384,        /* the largest record payload */
	AFTER_TEXT = 512,       /* of it is kept for what follows a text: numbers */
	PATTERNS = 128,
	SITES = 64,
	USUAL = 64, /* entries of struct usual */
	PATH_BYTES = 4096,
	OWN_DESCRIPTORS = 16, /* that a vfork child may open and be followed */
	MARKS = 256,          /* per process image; further ones are counted */
};

/* ---- what lies in shared memory and in files: docs/stream-format.md ---- */

struct clock_triple {
	uint64_t ticks;
	uint64_t monotonic;
	uint64_t realtime;
};

struct chunk {
	char magic[8];
	uint16_t version, header;
	uint32_t flags;
	uint64_t stream, number, instance;
	uint32_t pid, tid;
	uint64_t next_seq;
	struct clock_triple begin, seal;
	uint64_t base_stream, base_seq;
	uint64_t first_tick;
	uint32_t committed, crc, depth;
	uint8_t clock;
	uint8_t reserved[51];
	uint8_t rows[CHUNK_BYTES - CHUNK_HEADER];
};
_Static_assert(offsetof(struct chunk, rows) == CHUNK_HEADER, "chunk header is 192 bytes");
_Static_assert(sizeof(struct chunk) == CHUNK_BYTES, "chunk is 64 KiB");

enum chunk_flags { CHUNK_SEALED = 1, CHUNK_LAST = 2, CHUNK_SIDE = 4, CHUNK_BEFORE_EXEC = 16 };

struct open_call {
	uint64_t seq, began, frame;
	uint32_t op, object;
	int64_t size, offset;
	uint32_t site, reserved;
	uint64_t zero;
};
_Static_assert(sizeof(struct open_call) == 64, "an open call is 64 bytes");

struct thread_page {
	char magic[8];
	uint64_t stream;
	uint32_t tid;
	_Atomic uint32_t depth;
	uint8_t zero[40];
	struct open_call open[CALL_DEPTH];
};
_Static_assert(sizeof(struct thread_page) == PAGE, "a thread page is a page");

struct ring_header {
	char magic[8];
	uint32_t version, page;
	uint64_t instance;
	uint32_t pid;
	_Atomic uint32_t ended; /* 1: in order, and left this for others to bring in */
	uint64_t pid_start;
	_Atomic uint64_t allocated;
	uint64_t zeros[2];
	_Atomic uint64_t gate; /* the process's own, 0: it asks the control page (levels.c) */
};
_Static_assert(offsetof(struct ring_header, gate) == 64, "docs/stream-format.md, Ring");

struct counter {
	uint32_t op, object, enclosing, zero;
	uint64_t calls, errors, bytes, ticks, min, max, first, last;
};
_Static_assert(sizeof(struct counter) == 80, "a counter is 80 bytes");

enum { COUNTERS = (CHUNK_BYTES - 64) / 80 };
struct counter_table {
	char magic[8];
	uint64_t stream;
	_Atomic uint32_t used;
	uint32_t zero;
	uint64_t instance;
	uint8_t reserved[32];
	struct counter entry[COUNTERS];
	uint8_t pad[CHUNK_BYTES - 64 - COUNTERS * 80];
};
_Static_assert(sizeof(struct counter_table) == CHUNK_BYTES,
	       "a counter table is as long as a chunk");

struct control_page {
	char magic[8];
	uint32_t version, size;
	_Atomic uint64_t gate;
	_Atomic uint64_t generation;
	_Atomic uint64_t budget;
	_Atomic uint64_t selection; /* number of the file that holds instead of `gate`; 0: none */
	_Atomic uint64_t
		tuned; /* number of the latest settings for files that are opened later; 0: none */
	uint8_t zero[PAGE - 56];
};
_Static_assert(sizeof(struct control_page) == PAGE, "the control page is a page");

/* ---- per thread: private memory that a fork wipes ---- */

/* What a row is predicted from: docs/stream-format.md, "Prediction". */
struct pattern {
	uint64_t who;               /* op | object << 32 */
	uint64_t where;             /* site | depth << 32 | generation << 40 */
	uint64_t next[CALL_FIELDS]; /* the prediction: last + slope */
	uint64_t slope[CALL_FIELDS];
};

struct site_entry {
	const void *address;
	uint32_t site;
	uint32_t
		code; /* tables whose `code` it is in, and above them the number of the levels asked */
};

/* Where an event stands, for `code`: valid while the call of that seq is open at its depth. */
struct standing {
	uint32_t seq;   /* its lower half */
	uint8_t code;   /* tables whose `code` is met here */
	uint8_t inside; /* of a call that is no region: what is called here is not outermost */
};

/* Regions that are open: their calls have no wrapper's stack to lie on (runtime/user/regions.c). */
struct regions {
	uint32_t depth;
	uint32_t skipped; /* begun after those, and not recorded */
	struct call call[CALL_DEPTH];
};

/* What was true when a place in the program last read or wrote a descriptor: core/hot.h. It stays as it is
 * while its own call lasts. */
struct usual {
	const void *address; /* return address; NULL: none */
	uint64_t gate;
	const _Atomic uint32_t *object; /* of the descriptor: where it stands now */
	uint64_t who;                   /* as in struct pattern */
	int fd;
	uint32_t site;
	struct pattern *pattern;
	uint64_t slot;  /* of the pattern */
	uint64_t depth; /* calls around it */
};
_Static_assert(sizeof(struct usual) == 64, "a cache line");

enum {
	NOT_READY = 0,    /* a row is being built, or a fork wiped this */
	STALE = 1,        /* of a run that the process was detached from: to begin anew */
	READY = 2,        /* nothing special */
	READY_SLOWLY = 3, /* counting, what is counted is not cut, or a flush has no row yet */
};

struct thread {
	union {
		struct {
			uint8_t ready; /* NOT_READY, READY…; one look tells the usual case from all others */
			uint8_t depth; /* recorded calls that are open */
		};
		uint32_t state; /* both, in one load or store */
	};
	uint8_t when_ready;  /* READY, or READY_SLOWLY: what `ready` goes back to */
	uint8_t counting;    /* the budget is spent: calls go to counters */
	uint8_t alive;       /* 0: wiped */
	uint8_t broken;      /* no memory for a stream: pass through */
	uint8_t full;        /* nowhere to put another chunk: counters only, in their table */
	uint8_t inside_used; /* there is one */
	uint8_t snapshot; /* a copy made by thread_write_snapshot: its further chunks take the same memory */
	uint8_t *put;   /* next byte of rows */
	uint8_t *limit; /* a row may begin below */
	uint64_t next_seq;
	uint64_t last_ended;
	struct thread_page *page;
	struct chunk *chunk;
	uint32_t generation;  /* of patterns, sites and op records: one per chunk; 24 bits */
	uint32_t inside_said; /* op + 1 in the last `inside` record of this stream */
	struct around around; /* the innermost open call that gets no row */
	uint64_t stream;
	uint64_t number; /* of the current chunk */
	uint32_t tid;
	uint32_t chunks;  /* in chunk_list */
	uint32_t current; /* index of `chunk` in it */
	uint32_t written; /* chunks of the list that are in the file */
	struct chunk *chunk_list[CHUNKS_PER_THREAD];
	uint32_t pid;     /* the process's, or the vfork child's */
	uint32_t session; /* config.session when it began */
	bool is_vfork;
	struct thread *vfork; /* takes the calls of a vfork child of this thread */
	struct thread
		*side; /* takes the calls of a signal handler that interrupts us while not ready */
	struct thread *main;            /* of a side thread: whom it interrupts */
	struct thread *next;            /* in process.threads */
	struct counter_table *counters; /* these four in the ring: counters.h */
	struct data_table *data;
	struct tally_table *tally;
	struct heat_table *heat;
	struct counter_index *index;
	uint32_t
		uncut; /* layers, a bit each, of which `data` has accesses: a row must not come between */
	uint64_t flush_began, flush_ended, flush_bytes; /* a flush that has no row yet */
	struct site_entry site[SITES];
	const struct usual *user[PATTERNS]; /* whose calls a pattern predicts, in this chunk */
	_Alignas(64) struct usual usual[2][USUAL]; /* of outermost calls, of others */
	struct pattern pattern[PATTERNS];
	uint32_t spare_scratch; /* 1: a record that waits for the next chunk is in scratch[0] */
	struct {
		int fd;
		uint32_t object;
	} own_descriptor[OWN_DESCRIPTORS]; /* vfork child: what it opened */
	uint32_t own_descriptors;
	struct regions regions;
	struct standing standing[CALL_DEPTH];
	char path[PATH_BYTES]; /* not on the stack: a signal handler's may be small */
	uint8_t scratch[2][SCRATCH];
	uint32_t op_seen[]; /* generation in which the op's record was written, by op */
};

/* Fathom's own ops, layer `fathom`, numbered above the catalogue's. */
enum { OP_FATHOM = 0xff00, OP_FLUSH = OP_FATHOM, OP_START, OP_PATCH, OP_FATHOM_END };
extern const struct op fathom_ops[];

/* Between them, from ops_count on: ops of the user's own catalogues, then names of regions (runtime/user). */
enum { OPS_BROUGHT = 512, OPS_NAMED = 512, OPS_ADDED = OPS_BROUGHT + OPS_NAMED };
extern const struct op *_Atomic op_table;
/* The table with room for those; what is there never changes. NULL: no memory. */
struct op *ops_with_room(void);

static inline const struct op *op_of(uint32_t op)
{
	return likely(op < OP_FATHOM) ? &atomic_load_explicit(&op_table, memory_order_relaxed)[op]
				      : &fathom_ops[op - OP_FATHOM];
}

/* Place of an op in tables that have one for each. */
static inline uint32_t op_index(uint32_t op)
{
	return op < OP_FATHOM ? op : ops_count + OPS_ADDED + (op - OP_FATHOM);
}

/* ---- per process: private memory that a fork wipes ---- */

struct process {
	/* Kept when the process is attached to another run. */
	void *_Atomic lock; /* raw_thread() of who holds it */
	struct raw_users raw_users;
	struct thread *threads;
	struct interned *interned;     /* objects.c */
	struct name_table *name_table; /* left_out.c */
	struct site_table *site_table; /* sites.c */
	struct ring_header *place;     /* where ring headers are mapped, one after the other */
	/* For a program that limits its system calls: quiet.c. */
	char *quiet_memory; /* private memory, of which so much is used */
	size_t quiet_bytes;
	_Atomic size_t aside_used;
	struct spare *spare_threads; /* of ended threads */
	/* Of one run. */
	uint32_t alive;
	uint64_t instance;
	uint32_t pid;
	uint32_t generation; /* of this process image: raised by each fork up to here */
	_Atomic uint32_t objects, sites, selections, marks;
	_Atomic uint64_t stream_bytes; /* sealed */
	_Atomic bool budget_reported;
	_Atomic bool levels_unsaid; /* they were changed, and no mark tells it yet */
	bool levels_refused;        /* or were not, since they could not be read */
	uint64_t levels_changed;    /* ticks */
	bool file_made;
	uint32_t
		file_number; /* of the stream file: a limit on the size of files makes more than one */
	uint64_t file_bytes; /* in it */
	bool introduced;     /* the process record is written */
	bool write_failed;
	bool stopped;             /* there was no room for rows any more */
	bool over;                /* detached: all that will be is written */
	struct ring_header *ring; /* NULL: none (yet, or not to be had) */
	uint64_t ring_used;
	struct spare *spare_chunks, *spare_pages; /* of ended threads */
	uint32_t chunks;                          /* in use */
	uint32_t chunks_aside; /* for rows, of a program that limits its system calls */
	int write_error;       /* errno of the first write that failed */
	/* What nothing else tells of: said at the end. */
	_Atomic uint32_t threads_left_out; /* that found no memory for a stream */
	_Atomic uint32_t calls_too_deep;   /* below CALL_DEPTH open ones */
	char stream_path[PATH_BYTES];
	char ring_path[PATH_BYTES];
	char path[PATH_BYTES]; /* lock held: not on the stack, a signal handler's may be small */
};

/* Made from the environment or by whoever attaches, survives forks, not written while `on` but for the rank. */
struct config {
	bool on;
	uint32_t session; /* raised by each detach */
	char run[PATH_BYTES];
	char place
		[PATH_BYTES]; /* whose streams/ ours go to: the run, or where an agent ships them from */
	char ring[PATH_BYTES];
	char streams[PATH_BYTES];
	char boot_id[40];
	char host[65];
	uint64_t budget;
	uint64_t gate;                     /* FATHOM_LEVEL and FATHOM_LAYERS */
	uint32_t layers;                   /* that are patched */
	const char *files;                 /* FATHOM_FILES or NULL */
	const char *select;                /* FATHOM_SELECT or NULL */
	const char *tuned;                 /* FATHOM_TUNED or NULL */
	bool mmap_dirty;                   /* FATHOM_MMAP=dirty */
	uint32_t rank, ranks;              /* rank + 1; 0 unknown until MPI_Init */
	bool first_on_node;                /* of the ranks */
	char program[256];                 /* base name */
	uint64_t start_ticks, ready_ticks; /* the constructor's beginning and end */
	uint64_t start_ns;                 /* the same beginning, by CLOCK_MONOTONIC */
};

/* Bits of a gate: docs/control-page.md. */
#define LEVEL_CALL (3ull << 32)
enum { LEVEL_SHIFT = 32, COUNTED_LAYERS = 34, LAYER_FATHOM = 31 };

extern struct config config;
extern struct process *process;
extern struct control_page *control;
/* Whose calls are events without a question: the control page's gate, or the process's own (levels.c). */
extern const _Atomic uint64_t *_Atomic gate_at
	__attribute__((visibility("hidden"))); /* one load, not two */

static inline uint64_t gate_now(void)
{
	return atomic_load_explicit(atomic_load_explicit(&gate_at, memory_order_relaxed),
				    memory_order_relaxed);
}

extern __thread struct thread *self
	__attribute__((tls_model("initial-exec"), visibility("hidden")));

/* ---- call.c ---- */
/* Of a call just entered: it outlives the function that began it, but not the call that it was begun in. A jump
 * that leaves one leaves the other. */
void call_outlives_frame(const struct call *c);
uint32_t enclosing_op(const struct thread *t); /* op + 1 of the innermost open call; 0: none */
uint32_t beyond_enclosing_op(const struct thread *t);                  /* of the one around that */
uint32_t call_enclosing(const struct thread *t, const struct call *c); /* around one in flight */

/* ---- clock.c ---- */
extern uint8_t clock_kind; /* 0 raw ticks, 1 monotonic ns, 2 faked, 3 it stands still */
void clock_begin(const char *setting);
uint64_t ticks_slow(void);
struct clock_triple clock_read(void);
uint64_t clock_ns(void); /* CLOCK_MONOTONIC */
/* Of a program that limits its system calls: the time of now is kept, for where the kernel would have to be asked;
 * the counter may not be read any more: time stands still; both are undone. */
void clock_keep(void);
void clock_stop(void);
void clock_go_on(void);
uint8_t clock_in_chunks(void); /* which clock their ticks are of: clock_kind's first three */
uint64_t clock_ticks_per_second(void); /* 0: unknown here, the reader fits it */

/* The processor's counter: only where clock_kind is 0. */
static inline uint64_t ticks_raw(void)
{
#if defined(__x86_64__)
	return __builtin_ia32_rdtsc();
#else
	uint64_t value;
	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(value));
	return value;
#endif
}

static inline uint64_t ticks(void)
{
	return likely(clock_kind == 0) ? ticks_raw() : ticks_slow();
}

/* What `ready` goes back to. A vfork child has other descriptors, another clock costs more anyway; inside a call
 * without a row a call may be seen otherwise. */
static inline uint8_t usual_state(const struct thread *t)
{
	if (unlikely(t->session != config.session))
		return STALE;
	return t->counting || t->is_vfork || t->uncut || clock_kind || t->around.frame
		       ? READY_SLOWLY
		       : READY;
}

static inline void be_slow(struct thread *t)
{
	t->when_ready = usual_state(t) == STALE ? STALE : READY_SLOWLY;
}

/* ---- configuration.c ---- */
/* From here on these count instead of the environment: NAME=VALUE, each with a zero behind it; NULL: no more. */
void config_given(const char *settings);
const char *config_text(const char *name); /* NULL: not set, or empty */
void config_read(const char *run);         /* into `config` */
bool program_read(void);      /* its base name into `config`; false: it cannot be told */
bool program_is_traced(void); /* the same; false: a launcher, or left out */
bool rank_is_traced(void);    /* the rank that the launcher gives into `config` */

/* ---- process.c ---- */
void join_path(char *out, const char *a, const char *b,
	       const char *c); /* PATH_BYTES; out may be a */
void numbered_path(char *out, const char *directory, const char *name, uint64_t number);
void exec_ring(
	char *path); /* where an image that execs leaves its ring: its successor removes it */
bool control_is_private(void);
void recording_off(void);    /* for good: the program goes on without us */
void name_stream(void);      /* process->stream_path, from the file's number */
bool process_ready(void);    /* makes the state after the start or a fork; false: none to be had */
uint64_t process_lock(void); /* blocks signals if it may; returns the old mask */
void process_unlock(uint64_t mask);
/* By this thread, which a signal handler came in on: it must not wait for itself. */
bool process_locked_here(void);
/* What is sealed stays in the ring: it cannot be written, or must not be now. */
bool ring_stays(void);
uint64_t random_id(void);                          /* never 0 */
void *memory_get(size_t bytes, bool wipe_on_fork); /* NULL: none */

/* ---- quiet.c ---- */
void process_quiet_child_over(void); /* a vfork child's limits were not ours */

/* ---- node.c ---- */
void node_describe(const char *directory); /* lock held */

/* ---- ring.c: lock held ---- */

/* A chunk, counter table or thread page that is free: no magic, so that a reader takes it for nothing. */
struct spare {
	char magic[8];
	struct spare *next;
};
struct chunk *ring_chunk(bool first); /* a thread's first, or a further one; NULL: none */
void ring_chunk_free(void *chunk);
struct thread_page *ring_page(void);
void ring_page_free(struct thread_page *page);
void ring_remove(void);
void ring_set_aside(void); /* as much as a program that limits its system calls may need */
void ring_forget(void);    /* what no thread has of the run before goes back to the system */
/* How long a file of this process may become (RLIMIT_FSIZE). */
uint64_t file_limit(void);
/* Should it have become less since: a file that grows beyond it raises SIGXFSZ. With the lock held all signals are
 * blocked, and ours must not stay pending. */
long file_result(long result);
/* Opens one of our files, by raising the soft limit for this moment where the program has used up its
 * descriptors. */
long file_open(const char *path, int flags, int mode);

/* ---- descriptors.c ---- */
struct description;
struct descriptor {
	_Atomic(struct description *) description;
	_Atomic uint32_t object; /* of the description: one load less on the hot path */
	_Atomic bool cloexec;
};
enum { FDS_PER_PAGE = 1024, FD_PAGES = 1024 };

/* In memory that a fork wipes. */
struct descriptor_table {
	_Atomic(struct descriptor *) page[FD_PAGES];
	_Atomic uint64_t
		free; /* descriptions: no lock, which a thread that writes its stream out may hold */
};
extern _Atomic(struct descriptor_table *) descriptors;

/* ---- thread.c ---- */
void thread_begin(void);
void threads_stale(void);          /* each begins anew before it records again; lock held */
void threads_slow(void);           /* none goes the straight way any more; lock held */
struct thread *thread_claim(void); /* the calling thread's, marked not ready; NULL: none */
void thread_release(struct thread *t);
void around_set(struct thread *t, struct around around); /* t is claimed */
void thread_end(void *thread);                           /* key destructor */
void thread_say_losses(struct thread *t);                /* what nothing else tells of */
struct thread *thread_make(struct thread *main,
			   bool is_vfork); /* begins a stream; NULL: no memory */
void thread_write_snapshot(struct thread *t,
			   bool end); /* all that is committed, into the file; lock held */

static inline bool in_vfork_child(void)
{
	return self && self->is_vfork;
}

/* ---- stream.c ---- */
bool stream_begin_chunk(struct thread *t, struct chunk *chunk);
void stream_next_chunk(struct thread *t, bool last);
void stream_row(struct thread *t, const struct call *c, uint32_t site, uint64_t ended);
void stream_surprising_row(
	struct thread *t, uint8_t slot, const struct call *c,
	uint64_t ended); /* the fields are not as predicted, or the call failed */
void stream_flush_row(struct thread *t);
void stream_mark(struct thread *t, const char *kind, const char *detail, uint64_t value);
void stream_ask_budget(struct thread *t);
void stream_own_row(struct thread *t, uint32_t op, uint64_t began, uint64_t ended, uint64_t value);
void stream_unfinished(struct thread *t, const struct open_call *o, uint32_t depth, unsigned reason,
		       uint64_t ended);
void stream_write_out(struct thread *t);      /* its chunks not yet in the file; lock held */
bool stream_write(const struct chunk *chunk); /* one sealed chunk into the file; lock held */
void stream_seal(struct chunk *chunk, uint32_t flags);
void stream_op(struct thread *t, uint32_t op); /* the op's record, once per chunk */
/* That, and of the op that encloses it (+ 1; 0: none): a record about them comes into the same chunk. */
void stream_ops(struct thread *t, uint32_t op, uint32_t enclosing);
void stream_inside(struct thread *t); /* in which counted call the next ones are */

/* A record is built in t->scratch, then put in one piece. */
struct record {
	struct thread *t;
	uint8_t *at, *end;
};
struct record record_begin(struct thread *t);
void record_varint(struct record *r, uint64_t value);
void record_zigzag(struct record *r, int64_t value);
void record_bytes8(struct record *r, uint64_t value);
void record_text(struct record *r, const char *text, size_t length);
void record_string(struct record *r, const char *text);
void record_end(struct record *r, uint8_t type);

enum record_type {
	RECORD_OP = 1,
	RECORD_OBJECT,
	RECORD_SITE,
	RECORD_MODULE,
	RECORD_SELECTION,
	RECORD_LINK,
	RECORD_MARK,
	RECORD_HINT,
	RECORD_COUNTER,
	RECORD_PROCESS,
	RECORD_OPEN,
	RECORD_UNFINISHED,
	RECORD_RANK,
	RECORD_TEXT,
	RECORD_GROUP,
	RECORD_TALLY,
	RECORD_HEAT,
	RECORD_DATATYPE,
	RECORD_INSIDE = 20,
};
enum unfinished_reason { LEFT_BY_JUMP = 1, OPEN_AT_END, THREAD_ENDED };

/* ---- where.c, sites.c ---- */
void where_begin(void);
uint32_t site_of(struct thread *t, const void *frame, const void *address);
struct levels;
/* Tables whose `code` the call from this address is in. */
unsigned site_code(struct thread *t, const struct levels *l, const void *frame,
		   const void *address);

/* ---- left_out.c ---- */
uint32_t objects_left_out(const struct levels *l, uint32_t object); /* tables, a bit each */
/* The bits above a new object's number; its name, for a selection that comes later. */
uint32_t left_out_bits(enum object_class class, const struct object_def *def);
void left_out_add(uint32_t object, enum object_class class, const struct object_def *def);

/* ---- what a process learnt under one run means nothing in the next ---- */
void handles_forget(void);
void shapes_forget(void);
void objects_forget(void);
void names_forget(void); /* left_out.c */
void sites_forget(void);

/* ---- objects.c ---- */
uint32_t object_define_in(struct thread *t, struct call *c, enum object_class class,
			  const struct object_def *def); /* t is claimed */

/* ---- counters.c ---- */
/* `whole_job`: without regard to files. */
void counter_add(struct thread *t, const struct call *c, uint64_t ended, bool whole_job);
void counters_write(struct thread *t); /* into the stream as records */
void counters_cut(struct thread *t);   /* what the next row's order depends on */

/* ---- crc.c ---- */
uint32_t crc32c(uint32_t crc, const void *data, size_t bytes);

/* ---- text.c: what libc would do with locale or malloc ---- */
bool glob_match(const char *pattern, size_t length, const char *text);
/* `N`, `N-M` or `N-M:STEP`; what follows is not read. */
bool range_has(const char *range, uint32_t number);
size_t text_copy(char *out, size_t size,
		 const char *text); /* always terminated; returns length kept */
uint64_t text_hash(const char *text, uint64_t seed);
void text_hex(char *out, uint64_t value); /* 16 digits */
void text_decimal(char *out, uint64_t value);

#endif
