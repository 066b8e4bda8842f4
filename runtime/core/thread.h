/* A thread: private memory that a fork wipes, and its calls in flight. */
#ifndef FATHOM_THREAD_H
#define FATHOM_THREAD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/base.h"
#include "core/call.h"
#include "core/chunk.h"
#include "core/clock.h"
#include "core/config.h"
#include "core/unwind.h"

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

/* The same call by the same callers: the stack stands where it stood, and holds their addresses. */
struct path_entry {
	struct site_entry entry;
	const void *frame;
	uint32_t callers;
	struct caller caller[CALLERS];
};

/* Do calls from an address come by one path? */
struct trial {
	const void *address;
	uint32_t site; /* with its callers, of the first */
	uint32_t calls;
	bool several;
};

struct line_entry {
	uint64_t key;
	struct site_entry entry;
};

/* Where an event stands, for `code`: valid while the call of that seq is open at its depth. */
struct standing {
	uint32_t seq;   /* its lower half */
	uint8_t code;   /* tables whose `code` is met here */
	uint8_t inside; /* of a call that is no region: what is called here is not outermost */
};

/* Calls that are open between two wrappers: they have no wrapper's stack to lie on (spans.h). */
struct spans {
	uint32_t depth;
	uint32_t skipped; /* regions begun after those, and not recorded */
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
	uint64_t slot;                  /* of the pattern */
	uint32_t depth, regions_around; /* of the thread when it begins */
};
_Static_assert(sizeof(struct usual) == 64, "a cache line");

/* Where calls of one kind are counted: what was true when such a call ended last (core/count.h). */
struct counter_place {
	uint64_t who;            /* as in struct pattern, as far as the object matters */
	uint32_t levels, resets; /* numbers of the levels in force, and of the thread's tables */
	uint64_t outer, inside;  /* what is around such a call, and around those that it makes */
	union {
		struct counter *sum; /* in the ring */
		struct data_counter *data;
	};
	struct heat_bin *heat;     /* its row; NULL: it moves no data */
	struct data_counter *home; /* NULL: no access was plain */
	uint32_t uncut;            /* the bit of its layer */
	uint8_t level, direction;  /* enum level; of its op */
	uint8_t plain;             /* enum plain of count.c */
};
_Static_assert(sizeof(struct counter_place) == 64, "a cache line");

enum {
	NOT_READY = 0,    /* a row is being built, or a fork wiped this */
	STALE = 1,        /* of a run that the process was detached from: to begin anew */
	READY = 2,        /* nothing special */
	READY_COUNTS = 3, /* calls are counted that have their places, and have no rows */
	READY_SLOWLY = 4, /* what is counted is not cut, a flush has no row yet, another clock, … */
};

struct thread {
	union {
		struct {
			uint8_t ready; /* NOT_READY, READY…; one look tells the usual case from all others */
			uint8_t depth; /* recorded calls that are open */
			uint8_t regions_around; /* of these, the regions with nothing but regions around them */
		};
		uint32_t state; /* all, in one load or store */
	};
	uint8_t when_ready;  /* READY, READY_COUNTS, READY_SLOWLY: what `ready` goes back to */
	uint8_t counts;      /* the last calls had no rows */
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
	uint32_t last_inside; /* op + 1 in the last `inside` record of this stream */
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
	uint64_t heat_from, heat_until; /* ticks of the bin that calls fall into now */
	uint64_t heat_at;               /* bytes in a row before it */
	uint64_t counted_at;            /* next_seq when a call was counted last */
	uint32_t resets;                /* from 1: entries of these tables are others now */
	uint32_t changes;               /* from 1: … or a place is another's */
	uint32_t objects; /* bits of an object that matter to where its calls are counted */
	uint32_t
		uncut; /* layers, a bit each, of which `data` has accesses: a row must not come between */
	uint64_t flush_began, flush_ended, flush_bytes; /* a flush that has no row yet */
	struct site_entry site[SITES];
	const struct usual *user[PATTERNS]; /* whose calls a pattern predicts, in this chunk */
	_Alignas(64) struct usual usual[2][USUAL]; /* of outermost calls, of others */
	struct pattern pattern[PATTERNS];
	_Alignas(64) struct counter_place place[COUNTER_PLACES];
	uint32_t spare_scratch; /* 1: a record that waits for the next chunk is in scratch[0] */
	struct {
		int fd;
		uint32_t object;
	} own_descriptor[OWN_DESCRIPTORS]; /* vfork child: what it opened */
	uint32_t own_descriptors;
	struct spans spans;
	struct standing standing[CALL_DEPTH];
	char path[PATH_BYTES]; /* not on the stack: a signal handler's may be small */
	uint8_t scratch[2][SCRATCH];
	uint64_t unwound; /* calls whose callers were looked for */
	struct path_entry paths[PATHS];
	struct path_entry no_path; /* of a call whose callers were not looked for */
	struct trial trial[SITES];
	struct line_entry line[LINES]; /* in a process with Python: sites by line and address */
	uint64_t file_owner[FILES];    /* and whose file is whose (python.c) */
	uint32_t op_seen[];            /* generation in which the op's record was written, by op */
};

extern __thread struct thread *self
	__attribute__((tls_model("initial-exec"), visibility("hidden")));

/* What `ready` goes back to. A vfork child has other descriptors, another clock costs more anyway; inside a call
 * without a row a call may be seen otherwise. */
static inline uint8_t usual_state(const struct thread *t)
{
	if (unlikely(t->session != config.session))
		return STALE;
	if (t->is_vfork || clock_kind || t->flush_began)
		return READY_SLOWLY;
	if (t->counts)
		return READY_COUNTS;
	return t->counting || t->uncut || t->around.frame ? READY_SLOWLY : READY;
}

void thread_begin(void);
void threads_stale(void);          /* each begins anew before it records again; lock held */
void threads_slow(void);           /* none goes the straight way any more; lock held */
struct thread *thread_claim(void); /* the calling thread's, marked not ready; NULL: none */
void thread_release(struct thread *t);
void around_set(struct thread *t, struct around around); /* t is claimed */

/* Those that are no longer open. */
static inline void forget_regions_around(struct thread *t)
{
	if (t->regions_around > t->depth)
		t->regions_around = t->depth;
}

void thread_end(void *thread);            /* key destructor */
void thread_say_losses(struct thread *t); /* what nothing else tells of */
struct thread *thread_make(struct thread *main,
			   bool is_vfork); /* begins a stream; NULL: no memory */
/* All that is committed, into the file; peak: memory of the process, 0: another tells. Lock held. */
void thread_write_snapshot(struct thread *t, bool end, uint64_t peak);

static inline bool in_vfork_child(void)
{
	return self && self->is_vfork;
}

/* Of a call just entered: it outlives the function that began it, but not the call that it was begun in. A jump
 * that leaves one leaves the other. */
void call_outlives_frame(const struct call *c);
uint32_t enclosing_op(const struct thread *t); /* op + 1 of the innermost open call; 0: none */
/* Tables that leave the call out: one that names no file is on that of the call around it in its layer. */
struct levels;
uint32_t left_out_of(const struct thread *t, const struct levels *l, const struct call *c);
uint32_t beyond_enclosing_op(const struct thread *t);                  /* of the one around that */
uint32_t call_enclosing(const struct thread *t, const struct call *c); /* around one in flight */

#endif
