/* Counters of one thread: what its calls come to, what its accesses are like, which values they have, when data
 * moved. They lie in the ring, so they outlive the process. docs/stream-format.md, "Ring". */
#ifndef FATHOM_COUNTERS_H
#define FATHOM_COUNTERS_H

#include "core/base.h"
#include "core/call.h"
#include "core/chunk.h"
#include "core/clock.h"
#include "core/stream.h"
#include "core/thread.h"

enum { BINS = 17, PATTERN_COUNTS = 10 };

/* Of every layer: no counter is one layer's alone. An access is a call that moved data and did not fail; access_count()
 * counts. The ten are frozen, for they stand in the middle of a record: an eleventh goes behind its end, and is read where
 * there is more. It is also known to engine/import/src/spread.rs, interop/imports/details.py and docs/stream-format.md. */
enum pattern_count {
	SEQUENTIAL,
	CONSECUTIVE,
	STRIDED,
	UNALIGNED_FILE,
	UNALIGNED_MEMORY,
	CONTIGUOUS,
	HOLES_MEMORY,
	HOLES_FILE,
	HOLES_BOTH,
	SWITCHES,
};

/* A value and how many calls in a row had it: not yet in the histogram, nor in the tally. */
struct run {
	int64_t value;
	uint64_t calls;
};

/* Where a thread's accesses by one op to one object began, and where they are. */
struct order {
	uint64_t located; /* accesses whose offset is known */
	int64_t first_offset, first_end, second_offset;
	int64_t last_offset, last_end, distance;
};

/* Of a key whose calls move data; sum.zero is its detail. */
struct data_counter {
	struct counter sum;
	struct run size, extent, stride;
	struct order order;
	int64_t count[PATTERN_COUNTS];
	uint32_t
		home; /* the table's entry, from 1, that keeps `turn` of this object and layer; 0: none */
	uint32_t turn; /* there: 1 the last access was a read, 2 a write */
	uint64_t sizes[BINS], extents[BINS];
};
_Static_assert(sizeof(struct data_counter) == 544, "a data counter is 544 bytes");

enum { DATA_COUNTERS = (CHUNK_BYTES - 64) / 544 };
struct data_table {
	char magic[8];
	uint64_t stream;
	_Atomic uint32_t used;
	uint32_t zero;
	uint64_t instance;
	uint8_t reserved[32];
	struct data_counter entry[DATA_COUNTERS];
	uint8_t pad[CHUNK_BYTES - 64 - DATA_COUNTERS * 544];
};
_Static_assert(sizeof(struct data_table) == CHUNK_BYTES, "a data table is as long as a chunk");

/* How often a value was met: at most `calls`, at least `calls - bound` times. calls 0: a free place. */
struct tally {
	uint32_t op, object, enclosing, what;
	int64_t value;
	uint64_t calls, bound;
};
_Static_assert(sizeof(struct tally) == 40, "a tally is 40 bytes");

enum { TALLY_WAYS = 8, TALLY_SETS = (CHUNK_BYTES - 64) / (40 * TALLY_WAYS) };
struct tally_table {
	char magic[8];
	uint64_t stream;
	uint32_t zero[2];
	uint64_t instance;
	uint64_t dropped; /* what was dropped had been met at most that often */
	uint8_t reserved[24];
	struct tally set[TALLY_SETS][TALLY_WAYS];
	uint8_t pad[CHUNK_BYTES - 64 - TALLY_SETS * TALLY_WAYS * 40];
};
_Static_assert(sizeof(struct tally_table) == CHUNK_BYTES, "a tally table is as long as a chunk");

/* What moved by time, for each layer and direction. */
struct heat_bin {
	uint64_t calls, bytes, ticks;
};

enum { HEAT_BINS = 128, HEAT_ROWS = (CHUNK_BYTES - 64) / (8 + HEAT_BINS * 24) };
struct heat_row {
	uint32_t op; /* any of the layer and direction */
	uint32_t zero;
	struct heat_bin bin[HEAT_BINS];
};
struct heat_table {
	char magic[8];
	uint64_t stream;
	_Atomic uint32_t used;
	uint32_t shift; /* a bin is 1 << shift ticks */
	uint64_t instance;
	uint64_t first; /* number of the first bin, from tick 0 */
	uint8_t reserved[24];
	struct heat_row row[HEAT_ROWS];
	uint8_t pad[CHUNK_BYTES - 64 - HEAT_ROWS * (8 + HEAT_BINS * 24)];
};
_Static_assert(sizeof(struct heat_table) == CHUNK_BYTES, "a heat table is as long as a chunk");

/* Whose calls a counter counts. */
struct counter_key {
	uint32_t op, object, enclosing; /* enclosing op + 1 */
};

/* By hash of the key: number of the entry, from 1; 0: none. Private, so that it is cheap to forget. */
enum { SUM_PLACES = 2048, DATA_PLACES = 512 };
struct counter_index {
	uint16_t sum[SUM_PLACES];
	uint16_t data[DATA_PLACES];
	uint8_t heat[2][32];         /* by direction and layer: row, from 1 */
	struct data_counter *recent; /* programs repeat what they did last */
};

/* ---- counters.c ---- */
/* A table of the ring, zeroed, with its stream; NULL: none. The magic comes last. */
void *counter_memory(struct thread *t, const char *magic);
struct record counter_record(struct thread *t, const struct counter_key *key); /* its head */

/* ---- accesses.c, access.h ---- */
void access_add(struct thread *t, struct data_counter *n, const struct call *c);
/* An access that counts as one piece of memory is of several. */
void access_scatter(struct data_counter *n, const struct call *c);
void access_write(struct record *r, const struct data_counter *n);

/* ---- tally.c ---- */
void tally_add(struct thread *t, const struct counter_key *key, enum tallied what,
	       const struct run *run);
void tally_write(struct thread *t); /* into the stream as records */

/* ---- heat.c ---- */
struct heat_bin *heat_row(struct thread *t,
			  uint32_t op); /* of calls of the op, if any was counted */
void heat_add(struct thread *t, const struct call *c, uint64_t bytes, uint64_t ended);
void heat_write(struct thread *t);

/* ---- shapes.c ---- */
/* The selection's shape is kept for calls that are counted. */
void shape_add(uint32_t selection, const struct selection_def *def);
/* From the first to the last byte of the file that `amount` bytes touch, which begin at `offset` and are moved
 * through a selection (0: none); -1: not known. */
int64_t shape_extent(uint32_t selection, int64_t offset, int64_t amount);

/* `whole_job`: without regard to files. Returns the counter; NULL: there was no memory. */
struct counter *counter_add(struct thread *t, const struct call *c, uint64_t ended, bool whole_job);
void counters_write(struct thread *t); /* into the stream as records */
void counters_cut(struct thread *t);   /* what the next row's order depends on */

#endif
