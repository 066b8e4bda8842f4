/* What a generated wrapper and a handler may use: enter and leave a call, name objects.
 * Everything else of the runtime is private to runtime/core. */
#ifndef FATHOM_CALL_H
#define FATHOM_CALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/stream_format.h"

enum {
	CALL_FIELDS = 8, /* at most this many recorded numbers per call */
	CALL_DEPTH = 63, /* deeper calls pass through unrecorded, with a mark */
};

#define UNKNOWN_OFFSET                                                                             \
	INT64_MIN /* O_APPEND, shared descriptors: see offset_from in docs/tables.md */
/* Above an object's number, a bit for each table of the selection (job, file, call) whose `files` leave its file
 * out; there may be such bits and no number. What is written has none of them. */
#define OBJECT_LEFT_OUT       0xe0000000u
#define OBJECT_LEFT_OUT_SHIFT 29
#define OBJECT_NEVER          UINT32_MAX /* no object: its calls pass through, whatever is selected */

struct thread;
struct counter_place;

/* An open call that gets no row: it is counted, or only followed, since what is inside it may be selected. */
struct around {
	uint64_t frame; /* 0: there is none */
	union {
		struct {
			uint16_t op; /* op + 1 */
			uint16_t
				seen; /* op + 1 of the nearest one that is counted or recorded; 0: none */
			uint16_t beyond;              /* … of the one around that */
			uint8_t left_out;             /* tables that leave it out */
			uint8_t code : 7, inside : 1; /* as in struct standing */
		};
		uint64_t what; /* all that but the frame */
	};
};

/* One call in flight, on its wrapper's stack. */
struct call {
	struct thread *thread; /* NULL: not recorded, hooks are not run */
	uint64_t seq;
	uint64_t began; /* ticks */
	uint32_t op;
	uint32_t object; /* 0: none known (yet) */
	int32_t error;   /* 0, errno, or the API's own code */
	uint32_t depth;
	int64_t field[CALL_FIELDS]; /* order and names: the op's row in the catalog */
	uint32_t wrapper;           /* set by the wrapper before hooks run: edge_library(wrapper) */
	bool cancel; /* a hook says: no row; the wrapper leaves by call_cancel (call_enter clears it). In
			      * a call that is not recorded: it was absorbed by the same op around it */
	/* A call without a row: the one around it; where it is counted (NULL: not known), at that state of the
	 * thread's places. */
	struct around outer;
	const struct counter_place *place;
	uint32_t changes;
	uint64_t scratch[8]; /* a row's own hooks: kept from before to after, not initialised */
};

/* One op of the catalog, generated (ops[] below, indexed by op number). */
struct op {
	const char *layer_name;
	const char *name;
	const char *kind;
	const char *fields; /* comma-separated names of field[0..n) */
	uint8_t layer;
	uint8_t nfields;
	uint8_t tracked;    /* its offset is tracked, not given */
	uint8_t absorb;     /* the same op directly inside itself is one call (MPI_X over PMPI_X) */
	uint8_t collective; /* all ranks of the object's group make it together */
	uint8_t beside;     /* it stands beside the call that it is recorded in */
	uint8_t direction;  /* OP_READS, OP_WRITES: its calls move data; 0 */
	/* 1 + the number of the field: what counters look at; 0: there is none. `pieces` of memory. */
	uint8_t size_at, offset_at, bytes_at, selection_at, pieces_at;
	uint8_t aligns; /* its wrapper tells of buffers that are not aligned */
};
enum { OP_READS = 1, OP_WRITES };
extern const struct op ops[];
extern const uint32_t ops_count;

/* A wrapper does:
 *	struct call c;
 *	if (!call_enter(&c, OP, object, size, offset, frame, site)) return real(args);
 *	result = real(args);
 *	fill c.field, c.error, c.object; call_leave(&c, ended)
 * call_enter reads the clock last, the wrapper reads `ended` first. errno is never touched. */
bool call_enter(struct call *c, uint32_t op, uint32_t object, int64_t size, int64_t offset,
		const void *frame, const void *site);
void call_leave(struct call *c, uint64_t ended);
/* Forgets a call that turned out to be none worth a row (a failing MPI_Test); only if nothing was
 * recorded inside it, else it is kept. */
void call_cancel(struct call *c, uint64_t ended);
/* In an `after` hook: this call is counted, and has no row though its layer is recorded (a test that found
 * nothing). Only if nothing was recorded inside it, else it is kept. */
void call_count(struct call *c);
/* Is it counted at level `job`: nothing but calls, bytes and times is asked of it? */
bool call_for_job(const struct call *c);
/* Is it, and all others of this process, as the selection stands: does nobody ask what a call was on? */
bool calls_for_job(const struct call *c);
/* Of a call that moves data and did not fail, before it ends: its buffer is at no multiple of 8. */
__attribute__((cold)) void call_misaligned(struct call *c);
/* … the memory that it reads or writes has holes; of what datatype it is (datatype_define). */
void call_scattered(struct call *c);
void call_datatype(struct call *c, uint32_t datatype);
uint32_t datatype_define(struct call *c, const char *name); /* equal names, equal numbers */
/* What the program says (MPI_Pcontrol): off, none of its calls is recorded or counted until it is on again. */
void recording_switch(bool on);
/* May calls of the layer be recorded, or counted? For hooks and edges that work outside a call. */
bool layer_on(uint8_t layer);
/* Is the nearest call around this place, on this thread, one of that layer? */
bool call_inside(uint8_t layer);
uint64_t ticks_now(void);

/* Objects: what a call was made on. The number is the process image's; a definition is written to
 * the calling thread's stream at once. Definitions outlive the budget. */
struct object_def {
	uint32_t parent;
	const char *name; /* need not outlive the call; NULL is "" */
	uint64_t number
		[16]; /* by class: `carries` of catalog/stream.toml, in order; zigzag ones as int64_t */
	uint32_t numbers;
};
uint32_t object_define(struct call *c, enum object_class class, const struct object_def *def);
/* The bits of OBJECT_LEFT_OUT for a file of this name, for a call that is about to open it. */
uint32_t path_left_out(const char *path);
/* The object of a path that is named, not opened; made absolute with the current directory or dirfd's
 * path. Interned per process while its bounded table lasts. 0 when path is NULL. */
uint32_t path_object(int dirfd, const char *path);
/* What the program calls `name` inside `parent` (0: anywhere), class OBJECT_NAMED. Interned likewise; NULL is
 * the parent itself. */
uint32_t named_object(uint32_t parent, const char *name);
/* Makes `path` absolute and lexically clean into out (size bytes, always terminated); returns out. */
const char *path_absolute(char *out, size_t size, int dirfd, const char *path);
void path_chdir(void); /* the current directory changed: ask for it anew */

/* Small facts beside calls. */
struct call_ref {
	uint64_t stream;
	uint64_t seq;
};
/* --mmap dirty: is it to be told which pages of mappings are written? */
bool mapped_writes_wanted(void);
/* Done once, before the process's streams are written out at its end. */
void process_at_end(void (*act)(void));
struct call_ref call_reference(const struct call *c); /* stream 0: it has no row */
void call_link(struct call *c, struct call_ref to, enum link_kind kind, uint64_t bytes,
	       unsigned percent);
void call_text(struct call *c, const char *name, const char *value);
void call_path(struct call *c, const char *name, int dirfd, const char *path); /* made absolute */
void object_hint(struct call *c, uint32_t object, bool in_force, const char *key,
		 const char *value);
struct group_def {
	uint64_t hash; /* of the world ranks, in order */
	uint32_t size, ordinal, own;
	uint32_t n; /* of ranks given, at most 64 */
	uint32_t rank[64];
};
void object_group(struct call *c, uint32_t object, const struct group_def *def);
/* A block of bytes that is repeated, level within level. */
struct repeated {
	uint64_t start, bytes;
	uint32_t levels;
	uint64_t level[5][2]; /* count, stride in bytes; outermost first */
};
struct selection_def {
	uint8_t form; /* enum selection_form */
	bool exact;
	uint32_t rank;
	int64_t displacement;
	uint64_t unit, period, total, hash;
	const uint64_t *box;   /* rank pairs (start, count) */
	const uint64_t *block; /* blocks * rank pairs (start, count) */
	uint32_t blocks;       /* at most 64 */
	uint64_t span; /* of elements: from the first to the last in their array; 0: not known */
	const struct repeated *part; /* of too many blocks to be listed: what they are, repeated */
	uint32_t parts;
};
/* Returns the selection's number; equal selections of a process share one (bounded table). 0: none. */
uint32_t selection_define(struct call *c, const struct selection_def *def);
void process_rank(uint32_t rank, uint32_t ranks, const char *mpi); /* learned at MPI_Init */
/* Zeros, as a fork's child has, and no memory for whole pages of them. NULL: nothing. */
void memory_wipe(void *at, size_t bytes);
void note(const char *format, ...)
	__attribute__((format(printf, 1, 2))); /* one `mark` row: the run's log */
void note_library(const char *format, ...)
	__attribute__((format(printf, 1, 2))); /* a library that is in use, and its version */
/* A package of Python in this folder: it is in use where a file of it is opened. */
void note_package(const char *name, const char *version, const char *folder);

/* Handle tables: number of an API handle in one library -> 64 bits of ours. Bounded, lock-free to read. */
struct handle_table;
uint64_t handle_get(struct handle_table *table, uint64_t library, uint64_t handle); /* 0: none */
bool handle_put(struct handle_table *table, uint64_t library, uint64_t handle, uint64_t value);
uint64_t handle_take(struct handle_table *table, uint64_t library,
		     uint64_t handle); /* get and remove */
extern struct handle_table mpi_files, mpi_requests, mpi_datatypes, mpi_comms, hdf5_objects,
	netcdf_objects, pnetcdf_requests, directories, mappings, user_handles, queues, queue_files,
	tuned_files, fortran_units;

/* Descriptors (runtime/core/descriptors.c). */
uint32_t descriptor_object(
	int fd); /* defines an inherited one at first sight; 0: not open or not a valid fd */
/* The same of one that holds bytes of another file, whose name it is given at first sight. */
uint32_t descriptor_stands_for(int fd, const char *path);
int64_t descriptor_position(int fd); /* tracked offset, or UNKNOWN_OFFSET */
/* After a read or write at the tracked offset; returns the offset to record: `from`, or UNKNOWN_OFFSET
 * when another thread moved the same description meanwhile. Call it once for each descriptor_position. */
int64_t descriptor_advance(int fd, int64_t from, int64_t bytes);
void descriptor_seek(int fd, int64_t position); /* after lseek: the kernel's answer */
/* The same of a stream of libc; `ahead`: bytes from the kernel's position to where the program stands, as its
 * buffer says now, negative for what was read and not yet used. UNKNOWN_OFFSET as `to`: nobody knows. */
int64_t stream_position(int fd, int64_t ahead);
int64_t stream_advance(int fd, int64_t from, int64_t to, int64_t ahead);
void stream_seek(int fd, int64_t to, int64_t ahead);
uint32_t descriptor_open(struct call *c, int fd, int dirfd, const char *path,
			 int flags); /* one statx */
/* Asked in place of statx: false if the descriptor is what it seems to be. */
struct statx;
typedef bool descriptor_teller(int fd, struct statx *st);
void descriptor_ask(descriptor_teller *who);
void descriptor_close(int fd); /* before the call: the number may be another's right after it */
void descriptor_dup(int from, int to, bool cloexec);
void descriptor_cloexec(int fd, bool on);
void descriptor_flags(int fd, int flags); /* after fcntl(F_SETFL): O_APPEND may have come or gone */
void descriptor_close_range(unsigned first, unsigned last);

#endif
