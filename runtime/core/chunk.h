/* What lies in shared memory and in files: docs/stream-format.md, docs/control-page.md. */
#ifndef FATHOM_CHUNK_H
#define FATHOM_CHUNK_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base.h"
#include "core/call.h"

struct clock_triple {
	uint64_t ticks;
	uint64_t monotonic;
	uint64_t realtime;
};

/* Of a thread: ns on a processor + 1, ns in which it was ready and waited for one. 0 for `ran`: not known. */
struct processor_use {
	uint64_t ran, waited;
};

/* What the kernel gave a thread. read: bytes + 1 from block devices or a remote file system, not from the page cache; 0:
 * not known. */
struct thread_use {
	struct processor_use processors;
	uint64_t read;
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
	uint8_t zeros[3];
	struct processor_use use_begin, use_seal;
	uint64_t read_begin, read_seal;
	uint8_t rows[CHUNK_BYTES - CHUNK_HEADER];
};
_Static_assert(offsetof(struct chunk, use_begin) == 144, "docs/stream-format.md, Chunk");
_Static_assert(offsetof(struct chunk, rows) == CHUNK_HEADER, "chunk header is 192 bytes");
_Static_assert(sizeof(struct chunk) == CHUNK_BYTES, "chunk is 64 KiB");

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
	_Atomic uint32_t
		ended; /* 1: in order, and left this for others to bring in; from bit 8 on why: errno */
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

#endif
