/* What a traced process is told. */
#ifndef FATHOM_CONFIG_H
#define FATHOM_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base.h"
#include "core/chunk.h"

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
	bool paths;                        /* FATHOM_PATHS=1: callers of each call */
	uint32_t rank, ranks;              /* rank + 1; 0 unknown until MPI_Init */
	bool first_on_node;                /* of the ranks */
	char program[256];                 /* base name */
	uint64_t start_ticks, ready_ticks; /* the constructor's beginning and end */
	uint64_t start_ns;                 /* the same beginning, by CLOCK_MONOTONIC */
	struct thread_use start_use;       /* of the main thread, then */
};

/* Bits of a gate: docs/control-page.md. */
#define LEVEL_CALL (3ull << 32)
enum { LEVEL_SHIFT = 32, COUNTED_LAYERS = 34, LAYER_FATHOM = 31 };

extern struct config config;

/* From here on these count instead of the environment: NAME=VALUE, each with a zero behind it; NULL: no more. */
void config_given(const char *settings);
const char *config_text(const char *name); /* NULL: not set, or empty */
void config_read(const char *run);         /* into `config` */
bool program_read(void);      /* its base name into `config`; false: it cannot be told */
bool program_is_traced(void); /* the same; false: a launcher, or left out */
bool rank_is_traced(void);    /* the rank that the launcher gives into `config` */

#endif
