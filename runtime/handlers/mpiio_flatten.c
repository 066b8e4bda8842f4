/* Takes a datatype apart into the blocks of bytes it selects. Asks only local questions of the MPI,
 * once for each datatype in the tree; then walks a tree of our own. */
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#include "handlers/mpi_abi.h"
#include "handlers/mpiio.h"

enum {
	DEPTH = 64,       /* nested deeper: not taken apart */
	PIECES = 1 << 16, /* more are not walked: hash of these, exact = false */
	BLOCKS = 64,
	ARENA_BYTES = 64 << 10,  /* of the common, static arena */
	ARENA_LIMIT = 256 << 20, /* of numbers that one datatype may need */
};

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

static _Alignas(16) uint8_t common_arena[ARENA_BYTES];
static atomic_flag common_busy = ATOMIC_FLAG_INIT;

static void arena_begin(struct arena *arena)
{
	*arena = (struct arena){.common = !atomic_flag_test_and_set(&common_busy)};
	if (arena->common) {
		arena->put = common_arena;
		arena->end = common_arena + ARENA_BYTES;
	}
}

static void arena_end(struct arena *arena)
{
	for (struct mapped *m = arena->mapped, *next; m; m = next) {
		next = m->next;
		munmap(m, m->bytes);
	}
	if (arena->common)
		atomic_flag_clear(&common_busy);
}

static bool arena_grow(struct arena *arena, size_t bytes)
{
	size_t want = bytes + sizeof(struct mapped) + 16;

	want = want < (1 << 20) ? 1 << 20 : (want + 4095) & ~(size_t)4095;
	arena->total += want;
	if (arena->total > ARENA_LIMIT)
		return false;

	struct mapped *m = mmap(NULL, want, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (m == MAP_FAILED)
		return false;
	*m = (struct mapped){.next = arena->mapped, .bytes = want};
	arena->mapped = m;
	arena->put = (uint8_t *)m + ((sizeof(*m) + 15) & ~(size_t)15);
	arena->end = (uint8_t *)m + want;
	return true;
}

/* Room for n things of `each` bytes; NULL: too much. */
static void *arena_get(struct arena *arena, uint64_t n, size_t each)
{
	if (n > ARENA_LIMIT / each)
		return NULL;

	const size_t bytes = (n * each + 15) & ~(size_t)15;

	if ((size_t)(arena->end - arena->put) < bytes && !arena_grow(arena, bytes))
		return NULL;
	void *got = arena->put;
	arena->put += bytes;
	return got;
}

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

static bool ask_contents(const struct mpi_abi *abi, struct arena *arena, uintptr_t datatype,
			 struct contents *got)
{
	int combiner = 0, integers = 0, addresses = 0, datatypes = 0;

	*got = (struct contents){0};
	if (abi->envelope_c) {
		if (abi->envelope_c(datatype, &got->integers, &got->addresses, &got->counts,
				    &got->datatypes, &combiner) != 0)
			return false;
	} else {
		if (abi->envelope(datatype, &integers, &addresses, &datatypes, &combiner) != 0)
			return false;
		got->integers = integers;
		got->addresses = addresses;
		got->datatypes = datatypes;
	}
	got->combiner = combiner >= 0 && combiner < COMBINERS ? abi->facts->combiner[combiner]
							      : COMBINER_OTHER;
	got->large = got->counts > 0;
	if (got->combiner == COMBINER_NAMED || got->combiner == COMBINER_OTHER)
		return true;
	got->integer = arena_get(arena, (uint64_t)got->integers, sizeof(int));
	got->address = arena_get(arena, (uint64_t)got->addresses, sizeof(intptr_t));
	got->count = arena_get(arena, (uint64_t)got->counts, sizeof(int64_t));
	got->datatype = arena_get(arena, (uint64_t)got->datatypes, sizeof(uintptr_t));
	if (!got->integer || !got->address || !got->count || !got->datatype)
		return false;
	if (abi->contents_c)
		return abi->contents_c(datatype, got->integers, got->addresses, got->counts,
				       got->datatypes, got->integer, got->address, got->count,
				       got->datatype) == 0;
	return abi->contents(datatype, integers, addresses, datatypes, got->integer, got->address,
			     got->datatype) == 0;
}

/* Number i of a constructor's counts: MPI 4's large forms keep all of them in `count`. */
static int64_t number(const struct contents *from, int64_t i)
{
	return from->large ? from->count[i] : from->integer[i];
}

/* Displacement i in bytes, after `before` counts: large forms have no separate addresses. */
static int64_t address(const struct contents *from, int64_t before, int64_t i)
{
	return from->large ? from->count[before + i] : from->address[i];
}

static const struct node *take_apart(const struct mpi_abi *abi, struct arena *arena,
				     uintptr_t datatype, unsigned depth);

/* Frees the handles that get_contents gave: those of named types are not ours to free. */
static void release(const struct mpi_abi *abi, const struct contents *got)
{
	for (int64_t i = 0; i < got->datatypes; i++) {
		int integers, addresses, datatypes, combiner = 0;
		int64_t n[4];
		uintptr_t handle = mpi_handle_at(abi, got->datatype, (size_t)i);

		if (abi->envelope_c)
			abi->envelope_c(handle, &n[0], &n[1], &n[2], &n[3], &combiner);
		else
			abi->envelope(handle, &integers, &addresses, &datatypes, &combiner);
		if (combiner >= 0 && combiner < COMBINERS &&
		    (abi->facts->combiner[combiner] == COMBINER_NAMED ||
		     abi->facts->combiner[combiner] == COMBINER_OTHER))
			continue;
		abi->type_free(&handle);
	}
}

/* Does a run of this child come out as one block? */
static bool run_is_solid(const struct run *run)
{
	if (!run->child)
		return true;
	return run->child->solid &&
	       (run->count == 1 || run->child->extent == (int64_t)run->child->size);
}

static int64_t run_first(const struct run *run)
{
	return run->at + (run->child ? run->child->first : 0);
}

static uint64_t run_bytes(const struct run *run)
{
	return run->child ? run->count * run->child->size : run->count;
}

/* Works out what follows from a node's runs; runs that touch become one. */
static void settle(struct node *node)
{
	if (node->list && node->n == 1) {
		node->run = node->list[0];
		node->list = NULL;
	}
	if (node->list) {
		for (uint64_t i = 0; i < node->n; i++)
			node->size += run_bytes(&node->list[i]);
		return;
	}
	node->size = node->n * run_bytes(&node->run);
	if (node->n > 1 && node->run.child && run_is_solid(&node->run) &&
	    node->run.child->extent == (int64_t)node->run.child->size &&
	    node->stride == (int64_t)run_bytes(&node->run)) {
		node->run.count *= node->n;
		node->n = 1;
	}
	node->solid = node->n == 1 && node->run.count > 0 && run_is_solid(&node->run);
	node->first = run_first(&node->run);
}

static bool set_list(struct arena *arena, struct node *node, uint64_t n)
{
	node->n = n;
	node->list = arena_get(arena, n, sizeof(struct run));
	return node->list != NULL;
}

/* The two forms of contiguous and of vectors. */
static void set_vector(struct node *node, const struct contents *from, const struct node *child)
{
	const bool contiguous = from->combiner == COMBINER_CONTIGUOUS;

	node->n = contiguous ? 1 : (uint64_t)number(from, 0);
	node->run.count = (uint64_t)number(from, contiguous ? 0 : 1);
	node->run.child = child;
	if (from->combiner == COMBINER_VECTOR)
		node->stride = number(from, 2) * child->extent;
	else if (from->combiner == COMBINER_HVECTOR)
		node->stride = address(from, 2, 0);
}

/* The four indexed constructors: blocks of one length or each of its own, displacements in bytes or in
 * extents of the child. */
static bool set_indexed(struct arena *arena, struct node *node, const struct contents *from,
			const struct node *child)
{
	const bool own = from->combiner == COMBINER_INDEXED || from->combiner == COMBINER_HINDEXED;
	const bool bytes =
		from->combiner == COMBINER_HINDEXED || from->combiner == COMBINER_HINDEXED_BLOCK;
	const int64_t n = number(from, 0), before = own ? 1 + n : 2;

	if (!set_list(arena, node, (uint64_t)n))
		return false;
	struct run *run = (struct run *)node->list;
	for (int64_t i = 0; i < n; i++) {
		run[i].at =
			bytes ? address(from, before, i) : number(from, before + i) * child->extent;
		run[i].count = (uint64_t)number(from, own ? 1 + i : 1);
		run[i].child = child;
	}
	return true;
}

static bool set_struct(const struct mpi_abi *abi, struct arena *arena, struct node *node,
		       const struct contents *from, unsigned depth)
{
	const int64_t n = number(from, 0);

	if (!set_list(arena, node, (uint64_t)n))
		return false;
	struct run *run = (struct run *)node->list;
	for (int64_t i = 0; i < n; i++) {
		run[i].at = address(from, 1 + n, i);
		run[i].count = (uint64_t)number(from, 1 + i);
		run[i].child = take_apart(abi, arena, mpi_handle_at(abi, from->datatype, (size_t)i),
					  depth + 1);
		if (!run[i].child)
			return false;
	}
	return true;
}

/* One dimension of an array of `all` elements, each an `inner`. */
static struct node *dimension(struct arena *arena, const struct node *inner, int64_t all)
{
	struct node *node = arena_get(arena, 1, sizeof(*node));

	if (node)
		*node = (struct node){.n = 1,
				      .extent = all * inner->extent,
				      .run = {.count = (uint64_t)all, .child = inner}};
	return node;
}

/* Elements `start` to `start + count` of a dimension. */
static const struct node *range(struct arena *arena, const struct node *inner, int64_t start,
				int64_t count, int64_t all)
{
	struct node *node = dimension(arena, inner, all);

	if (!node)
		return NULL;
	node->run.at = start * inner->extent;
	node->run.count = (uint64_t)count;
	settle(node);
	return node;
}

static const struct node *subarray(const struct mpi_abi *abi, struct arena *arena,
				   const struct contents *from, const struct node *child)
{
	const int64_t dims = from->integer[0];
	const bool fortran =
		from->integer[from->large ? 1 : 1 + 3 * dims] == abi->facts->order_fortran;
	const int64_t base = from->large ? 0 : 1;

	for (int64_t k = 0; child && k < dims; k++) {
		const int64_t d = fortran ? k : dims - 1 - k;

		child = range(arena, child, number(from, base + 2 * dims + d),
			      number(from, base + dims + d), number(from, base + d));
	}
	return child;
}

/* One dimension of a distributed array: the process at `mine` of `parts` has every `parts`-th stretch of
 * `length` elements. */
static const struct node *distributed(struct arena *arena, const struct node *inner, int64_t all,
				      int64_t length, int64_t parts, int64_t mine)
{
	struct node *node = dimension(arena, inner, all);
	uint64_t n = 0;

	if (!node || length <= 0 || parts <= 0)
		return NULL;
	if (mine * length < all)
		n = (uint64_t)((all - mine * length - 1) / (length * parts) + 1);
	if (!set_list(arena, node, n))
		return NULL;
	struct run *run = (struct run *)node->list;
	for (uint64_t i = 0; i < n; i++) {
		const int64_t at = mine * length + (int64_t)i * length * parts;

		run[i].at = at * inner->extent;
		run[i].count = (uint64_t)(all - at < length ? all - at : length);
		run[i].child = inner;
	}
	settle(node);
	return node;
}

static const struct node *darray(const struct mpi_abi *abi, struct arena *arena,
				 const struct contents *from, const struct node *child)
{
	/* ints: size, rank, ndims, gsizes[], distribs[], dargs[], psizes[], order; large forms
	 * keep gsizes in `count` */
	const int64_t dims = from->integer[2];
	const int64_t lists = from->large ? 3 - dims : 3;
	const bool fortran = from->integer[lists + 4 * dims] == abi->facts->order_fortran;
	int64_t rest = from->integer[1], place[DEPTH];

	if (dims < 0 || dims > DEPTH)
		return NULL;
	for (int64_t d = dims - 1; d >= 0; d--) { /* the process grid is always in C order */
		const int parts = from->integer[lists + 3 * dims + d];

		if (parts <= 0)
			return NULL;
		place[d] = rest % parts;
		rest /= parts;
	}
	for (int64_t k = 0; child && k < dims; k++) {
		const int64_t d = fortran ? k : dims - 1 - k;
		const int64_t all = from->large ? from->count[d] : from->integer[3 + d];
		const int how = from->integer[lists + dims + d];
		const int argument = from->integer[lists + 2 * dims + d];
		const int64_t parts = from->integer[lists + 3 * dims + d];
		int64_t length = argument;

		if (how == abi->facts->distribute_block && argument == abi->facts->default_argument)
			length = (all + parts - 1) / parts;
		else if (argument == abi->facts->default_argument)
			length = 1;
		if (how == abi->facts->distribute_block || how == abi->facts->distribute_cyclic)
			child = distributed(arena, child, all, length, parts, place[d]);
		else
			child = range(arena, child, 0, all, all);
	}
	return child;
}

/* A type without parts. Of the named ones only MPI_SHORT_INT has a hole between its bytes. */
static bool set_leaf(const struct mpi_abi *abi, struct arena *arena, struct node *node,
		     uintptr_t datatype)
{
	int64_t size = 0, lb = 0, extent = 0;

	if (abi->type_size(datatype, &size) != 0 ||
	    abi->type_true_extent(datatype, &lb, &extent) != 0 || size < 0)
		return false;
	if (size == extent || size == 0) {
		node->n = 1;
		node->run = (struct run){.at = lb, .count = (uint64_t)size};
		return true;
	}
	if (size != 6 || extent != 8 || !set_list(arena, node, 2))
		return false;
	struct run *run = (struct run *)node->list;
	run[0] = (struct run){.at = 0, .count = 2};
	run[1] = (struct run){.at = 4, .count = 4};
	return true;
}

static const struct node *build(const struct mpi_abi *abi, struct arena *arena, struct node *node,
				const struct contents *from, uintptr_t datatype, unsigned depth)
{
	const struct node *child = NULL;

	if (from->combiner == COMBINER_NAMED || from->combiner == COMBINER_OTHER) {
		if (!set_leaf(abi, arena, node, datatype))
			return NULL;
		settle(node);
		return node;
	}
	if (from->combiner == COMBINER_STRUCT) {
		if (!set_struct(abi, arena, node, from, depth))
			return NULL;
		settle(node);
		return node;
	}
	child = take_apart(abi, arena, mpi_handle_at(abi, from->datatype, 0), depth + 1);
	if (!child)
		return NULL;
	switch (from->combiner) {
	case COMBINER_CONTIGUOUS:
	case COMBINER_VECTOR:
	case COMBINER_HVECTOR:
		set_vector(node, from, child);
		break;
	case COMBINER_SUBARRAY:
	case COMBINER_DARRAY:
		child = from->combiner == COMBINER_SUBARRAY ? subarray(abi, arena, from, child)
							    : darray(abi, arena, from, child);
		/* fallthrough */
	case COMBINER_DUP:
	case COMBINER_RESIZED:
		if (!child)
			return NULL;
		node->n = 1;
		node->run = (struct run){.count = 1, .child = child};
		break;
	default:
		if (!set_indexed(arena, node, from, child))
			return NULL;
	}
	settle(node);
	return node;
}

static const struct node *take_apart(const struct mpi_abi *abi, struct arena *arena,
				     uintptr_t datatype, unsigned depth)
{
	struct node *node = arena_get(arena, 1, sizeof(*node));
	struct contents from;
	const struct node *built;
	int64_t lb;

	if (!node || depth > DEPTH)
		return NULL;
	memset(node, 0, sizeof(*node));
	if (abi->type_extent(datatype, &lb, &node->extent) != 0 ||
	    !ask_contents(abi, arena, datatype, &from))
		return NULL;
	built = build(abi, arena, node, &from, datatype, depth);
	if (from.datatypes > 0 && from.datatype)
		release(abi, &from);
	return built;
}

/* ---- the walk ---- */

struct walk {
	struct mpi_layout *out;
	int64_t start, end; /* of the block that grows */
	uint64_t pieces, blocks;
	bool stopped;
};

static void flush_block(struct walk *walk)
{
	struct mpi_layout *out = walk->out;
	const uint64_t start = (uint64_t)walk->start, count = (uint64_t)(walk->end - walk->start);

	if (count == 0)
		return;
	if (walk->blocks < BLOCKS) {
		out->block[walk->blocks][0] = start;
		out->block[walk->blocks][1] = count;
	}
	walk->blocks++;
	out->hash = (out->hash ^ start) * 0x9e3779b97f4a7c15u;
	out->hash = (out->hash ^ (out->hash >> 29) ^ count) * 0xbf58476d1ce4e5b9u;
	out->hash ^= out->hash >> 32;
}

static void put(struct walk *walk, int64_t at, uint64_t bytes)
{
	if (bytes == 0)
		return;
	if (++walk->pieces > PIECES) {
		walk->stopped = true;
		return;
	}
	if (at != walk->end || walk->end == walk->start) {
		flush_block(walk);
		walk->start = at;
	}
	walk->end = at + (int64_t)bytes;
}

static void visit(struct walk *walk, const struct node *node, int64_t at);

static void visit_run(struct walk *walk, const struct run *run, int64_t at)
{
	if (run->count == 0)
		return;
	if (run_is_solid(run)) {
		put(walk, at + run_first(run), run_bytes(run));
		return;
	}
	for (uint64_t i = 0; i < run->count && !walk->stopped; i++)
		visit(walk, run->child, at + run->at + (int64_t)i * run->child->extent);
}

static void visit(struct walk *walk, const struct node *node, int64_t at)
{
	for (uint64_t i = 0; i < node->n && !walk->stopped; i++) {
		if (node->list)
			visit_run(walk, &node->list[i], at);
		else
			visit_run(walk, &node->run, at + (int64_t)i * node->stride);
	}
}

/* A filetype without holes is the same view whatever its length. */
static void shorten(struct mpi_layout *out)
{
	if (out->blocks == 1 && out->exact && out->block[0][0] == 0 &&
	    out->block[0][1] == out->period) {
		out->block[0][1] = out->period = out->total = out->span = 1;
		out->hash = 0;
	}
}

bool mpi_flatten(const struct mpi_abi *abi, uintptr_t datatype, struct mpi_layout *out)
{
	struct arena arena;
	struct walk walk = {.out = out};
	int64_t lb = 0, span = 0;

	arena_begin(&arena);
	const struct node *node = take_apart(abi, &arena, datatype, 0);
	if (node) {
		*out = (struct mpi_layout){.total = node->size, .period = (uint64_t)node->extent};
		visit(&walk, node, 0);
		flush_block(&walk);
		abi->type_true_extent(datatype, &lb, &span);
		out->start = (uint64_t)lb;
		out->span = (uint64_t)span;
		out->exact = !walk.stopped && walk.blocks <= BLOCKS;
		out->blocks = out->exact ? (uint32_t)walk.blocks : 0;
		shorten(out);
	}
	arena_end(&arena);
	return node != NULL;
}
