/* Which calls are seen, and how finely: the selection in force. docs/selection.md. Private to runtime/core. */
#ifndef FATHOM_LEVELS_H
#define FATHOM_LEVELS_H

#include "core/base.h"
#include "core/call.h"
#include "core/ops.h"
#include "core/thread.h"

enum { TABLES = 3, SELECTION_BYTES = 65536, CODE_RANGES = 1024 };
enum level { LEVEL_UNSEEN, LEVEL_JOB, LEVEL_FILE, LEVEL_EVENT };
enum { LEVEL_ASKED = 0xff, LAYERS_MOST = 32 };

/* Lines of one key in the text, each its name, a blank and a value. */
struct lines {
	uint32_t begin, end; /* equal: none */
};

/* One table: what a call must be to match it. */
struct table {
	bool there;
	uint8_t operations;       /* OP_READS, OP_WRITES; 0: not asked */
	uint32_t layers, counted; /* of these, calls are counted only */
	uint64_t from, until;     /* ns since the process's start */
	struct lines programs, ranks, critical, files, regions;
};

struct code_range {
	uint64_t begin, end;
	uint32_t module; /* where in the text it is named */
	uint32_t tables;
};

/* Of this process. The one before the present one is overwritten by the next: whoever reads it looks at `number`
 * again when done, and all that is read of it stays within it. */
struct levels {
	_Atomic uint32_t number; /* raised by each change; 0: being made */
	uint64_t generation;     /* of the control page */
	uint32_t in_play;        /* tables that hold for this process now */
	uint32_t layers;         /* whose calls may match one, or may have to be followed */
	uint32_t files, code;    /* tables in play that ask for these */
	uint32_t objects_before; /* objects up to this number were defined under others */
	uint64_t gate;           /* as the hot path has it */
	uint64_t next_edge;      /* ns since the start: when a window opens or closes; UINT64_MAX */
	/* of all calls of a layer; LEVEL_ASKED: it takes more */
	uint8_t usual[LAYERS_MOST];
	struct table table[TABLES];
	uint32_t code_ranges;
	struct code_range code_range[CODE_RANGES];
	uint32_t says, bytes; /* where the summary is; of the text */
	char text[SELECTION_BYTES + 1];
};

extern struct levels *_Atomic levels_in_force __attribute__((visibility("hidden")));

void levels_begin(void);      /* process_begin */
void levels_new_image(void);  /* the ring was made, or a fork left it to the parent; lock held */
void levels_rank_known(void); /* MPI_Init told it */
void levels_off(void);        /* for good */
void levels_say(struct thread *t); /* a mark of the change that has none; t is claimed */
/* Those in force now: follows the control page, and time. */
const struct levels *levels_now(void);
static inline bool levels_see_nothing(void)
{
	return !levels_now()->layers;
}

/* levels_match.c */
bool levels_program(const struct levels *l, const struct lines *programs);
bool levels_rank(const struct levels *l, const struct lines *ranks);
bool levels_critical(const struct levels *l, const struct lines *critical);
uint8_t levels_usual(const struct levels *l, uint32_t layer);
enum level level_asked(const struct levels *l, const struct op *called, uint32_t left_out,
		       unsigned code);
static inline enum level level_of(const struct levels *l, uint32_t op, uint32_t left_out,
				  unsigned code)
{
	const struct op *called = op_of(op);
	const uint8_t usual = l->usual[called->layer];

	return likely(usual != LEVEL_ASKED) ? (enum level)usual
					    : level_asked(l, called, left_out, code);
}
/* Tables whose `files` leave this path out. */
uint32_t levels_leave_out(const struct levels *l, const char *path);
/* Tables whose `code` this is in: an address of a module; a region's name. */
unsigned levels_code(const struct levels *l, const char *id, size_t id_bytes, const char *path,
		     uint64_t offset);
unsigned levels_region(const struct levels *l, const char *name);

#endif
