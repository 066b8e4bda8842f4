/* Builds the tree of a datatype: one node for each constructor, with what it repeats and where. */
#include <string.h>

#include "handlers/mpiio_tree.h"

enum {
	DEPTH = 64, /* nested deeper: not taken apart */
};

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

const struct node *take_apart(const struct mpi_abi *abi, struct arena *arena, uintptr_t datatype,
			      unsigned depth)
{
	struct node *node = arena_get(arena, 1, sizeof(*node));
	struct contents from;
	const struct node *built;
	int64_t lb;

	if (!node || depth > DEPTH)
		return NULL;
	memset(node, 0, sizeof(*node));
	if (abi->type_extent(datatype, &lb, &node->extent) != 0 ||
	    !contents_ask(abi, arena, datatype, &from))
		return NULL;
	built = build(abi, arena, node, &from, datatype, depth);
	if (from.datatypes > 0 && from.datatype)
		contents_release(abi, &from);
	return built;
}
