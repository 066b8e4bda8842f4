/* A datatype as a tree of our own: what mpiio_contents.c asks of the MPI, mpiio_tree.c builds and
 * mpiio_flatten.c walks. */
#ifndef FATHOM_MPIIO_TREE_H
#define FATHOM_MPIIO_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "handlers/mpi_abi.h"

/* Scratch memory of one flattening: the static arena if free, then mapped pieces. */
struct arena {
	uint8_t *put, *end;
	size_t total;
	bool common;
	struct mapped {
		struct mapped *next;
		size_t bytes;
	} * mapped;
};
void arena_begin(struct arena *arena);
void arena_end(struct arena *arena);
/* Room for n things of `each` bytes; NULL: too much. */
void *arena_get(struct arena *arena, uint64_t n, size_t each);

/* What MPI_Type_get_contents said, plain and large-count forms alike. */
struct contents {
	enum mpi_combiner combiner;
	bool large;
	int64_t integers, addresses, counts, datatypes;
	int *integer;
	intptr_t *address;
	int64_t *count;
	void *datatype;
};
bool contents_ask(const struct mpi_abi *abi, struct arena *arena, uintptr_t datatype,
		  struct contents *got);
/* Frees the handles that it gave. */
void contents_release(const struct mpi_abi *abi, const struct contents *got);

/* A datatype as we keep it: `n` runs, run i being `count` copies of a child, one extent apart, from
 * `at`. A run without a child is `count` bytes. Regular runs need no list: they lie `stride` apart. */
struct run {
	int64_t at;
	uint64_t count;
	const struct node *child;
};

struct node {
	int64_t extent;
	uint64_t size;
	bool solid; /* one block from `first` on */
	int64_t first;
	uint64_t n;
	int64_t stride;
	const struct run *list; /* NULL: n times `run`, `stride` apart */
	struct run run;
};

/* Does a run of this child come out as one block? */
static inline bool run_is_solid(const struct run *run)
{
	if (!run->child)
		return true;
	return run->child->solid &&
	       (run->count == 1 || run->child->extent == (int64_t)run->child->size);
}

static inline int64_t run_first(const struct run *run)
{
	return run->at + (run->child ? run->child->first : 0);
}

static inline uint64_t run_bytes(const struct run *run)
{
	return run->child ? run->count * run->child->size : run->count;
}

/* The tree of a datatype, `depth` levels down; NULL: it cannot be taken apart. */
const struct node *take_apart(const struct mpi_abi *abi, struct arena *arena, uintptr_t datatype,
			      unsigned depth);

#endif
