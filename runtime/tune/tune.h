/* Settings of a run, put in just before the calls that take them: rows of the catalog with `tune`. */
#ifndef FATHOM_TUNE_H
#define FATHOM_TUNE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/call.h"

enum { TUNED_MOST = 48 }; /* settings that one call can take; further ones are left, and said */

/* What was set for one call, on its wrapper's stack. */
struct tuned {
	uint32_t n; /* of what is told */
	struct {
		uint16_t setting;
		const char *left; /* why it was left as it was; NULL: it was set */
	} report[TUNED_MOST];
	uintptr_t info;          /* ours, to be freed; 0: none */
	uintptr_t open;          /* a file that was open already took these hints; 0: none */
	struct tuned_file *file; /* what is kept of the file that is being opened; NULL: nothing */
	int64_t list[2];
	int (*info_free)(void *info);
	int (*list_close)(int64_t list);
};

extern bool tune_on; /* this run has settings; written once, at the start */

static inline bool tune_wanted(struct tuned *t)
{
	t->n = 0;
	return __builtin_expect(tune_on, 0);
}

/* Reads the settings; what cannot be read is noted, and nothing is set. */
void tune_begin(const char *path);

/* Each begins a struct tuned, and may replace what the pointers point to. */
void tune_info(struct tuned *t, uint32_t wrapper, const char *name, uintptr_t *info);
/* The same of an open that all ranks of a communicator make, with what came while the run was on its way; what became of it;
 * hints that came later, where ranks give a file that they have open hints anew; its close. */
void tune_open(struct tuned *t, uint32_t wrapper, uintptr_t comm, const char *name,
	       uintptr_t *info);
void tune_opened(struct tuned *t, int result, const uintptr_t *file);
void tune_hints(struct tuned *t, uint32_t wrapper, uintptr_t file, uintptr_t *info);
void tune_close(struct tuned *t, uint32_t wrapper, const uintptr_t *file);
void tune_file(struct tuned *t, uint32_t wrapper, const char *name, int64_t *create,
	       int64_t *access);
void tune_dataset(struct tuned *t, uint32_t wrapper, int64_t where, const char *name, int64_t type,
		  int64_t space, int64_t *create, int64_t *access);
void tune_transfer(struct tuned *t, uint32_t wrapper, int64_t dataset, int64_t *transfer);
/* Behind the call: frees our copies; what was set is a hint of the call's object. NULL: it is not recorded. */
void tune_end(struct tuned *t, struct call *c);

#endif
