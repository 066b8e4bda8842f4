/* What libfathom.so and a library of the user's own probes (fathom run --probes) know of each other. That library
 * is made of generated wrappers, the same as libfathom's own, and probe_glue.c. It is preloaded beside libfathom.so,
 * which exports nothing: so it is found by its name, and given the functions it needs. */
#ifndef FATHOM_PROBE_H
#define FATHOM_PROBE_H

#include "core/call.h"
#include "edges/edges.h"

#define PROBES_SONAME "libfathom-probes.so"
#define PROBES_SYMBOL "fathom_probes"
enum { PROBES_VERSION = 1 };

/* The functions of core/call.h that catalogs may use, and those below. */
struct probe_calls {
	bool (*enter)(struct call *c, uint32_t op, uint32_t object, int64_t size, int64_t offset,
		      const void *frame, const void *site);
	void (*leave)(struct call *c, uint64_t ended);
	void (*cancel)(struct call *c, uint64_t ended);
	bool (*layer_on)(uint8_t layer);
	bool (*inside)(uint8_t layer);
	uint64_t (*ticks)(void);
	void (*text)(struct call *c, const char *name, const char *value);
	void (*path)(struct call *c, const char *name, int dirfd, const char *path);
	uint32_t (*path_object)(int dirfd, const char *path);
	uint32_t (*named_object)(uint32_t parent, const char *name);
	uint32_t (*descriptor_object)(int fd);
	int64_t (*descriptor_position)(int fd);
	int64_t (*descriptor_advance)(int fd, int64_t from, int64_t bytes);
	uint32_t (*handle)(uint32_t api, uint64_t handle);
	const char *(*name)(uint32_t api, uint64_t handle);
	void (*opens)(uint32_t api, uint64_t handle, uint32_t object, const char *name);
	void (*closes)(uint32_t api, uint64_t handle);
};

struct probes {
	uint32_t version;
	uint32_t ops_count;
	const struct op *ops;
	struct edge_tables tables;
	void *const *wrappers;
	void **originals;
	/* Written by Fathom before the first wrapper is reachable. */
	const struct probe_calls **calls;
	uint32_t *first_op;
};

/* Handles of the user's libraries: what a later call on one is a call on. `api` tells one catalog's from
 * another's. */
enum { NO_HANDLE = -1 };
uint32_t probe_handle(uint32_t api, uint64_t handle); /* its object; 0: not known */
/* The name it was opened with; NULL: none. */
const char *probe_name(uint32_t api, uint64_t handle);
/* `handle` NO_HANDLE: the call failed. */
void probe_opens(uint32_t api, uint64_t handle, uint32_t object, const char *name);
void probe_closes(uint32_t api, uint64_t handle);

#endif
