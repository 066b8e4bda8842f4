/* A process: private memory that a fork wipes, and the gate of its calls. */
#ifndef FATHOM_STATE_H
#define FATHOM_STATE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base.h"
#include "core/chunk.h"
#include "core/raw.h"

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

void process_quiet_child_over(void); /* a vfork child's limits were not ours */

void node_describe(const char *directory); /* lock held */

#endif
