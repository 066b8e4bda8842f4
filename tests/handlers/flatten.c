/* The flattening of datatypes against brute force: random trees of every constructor; the oracle sends
 * itself a buffer in which each byte says where it lies, once for each byte of that number. */
#include <mpi.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/process.h"
#include "edges/edges.h"
#include "handlers/mpi_abi.h"
#include "handlers/mpiio.h"

enum { TYPES = 4000, SPAN = 1 << 22, LARGEST = 1 << 15 };

/* What the handlers need of the runtime. */
void note(const char *format, ...)
{
	va_list list;

	va_start(list, format);
	vfprintf(stderr, format, list);
	va_end(list);
	fputc('\n', stderr);
}

uint64_t edge_library(uint32_t wrapper)
{
	return wrapper;
}

void *edge_hidden(const char *name)
{
	(void)name;
	return NULL;
}

const struct link_map *process_module(const void *address, void **begin)
{
	(void)address;
	*begin = NULL;
	return NULL;
}

static unsigned seed = 1;

static int below(int n)
{
	seed = seed * 1103515245u + 12345u;
	return (int)((seed >> 12) % (unsigned)n);
}

static MPI_Datatype named(void)
{
	const MPI_Datatype some[] = {MPI_BYTE,      MPI_SHORT,      MPI_INT,  MPI_DOUBLE,
				     MPI_SHORT_INT, MPI_DOUBLE_INT, MPI_CHAR, MPI_LONG_INT};

	return some[below(8)];
}

static MPI_Datatype make(int depth);

static MPI_Datatype make_indexed(int kind, MPI_Datatype old, MPI_Aint extent)
{
	int n = below(5), length[8], place[8], at = 0;
	MPI_Aint byte[8], byte_at = 0;
	MPI_Datatype new;

	for (int i = 0; i < n; i++) {
		length[i] = kind >= 2 ? length[i ? i - 1 : 0] : below(4);
		if (kind >= 2 && i == 0)
			length[0] = 1 + below(3);
		place[i] = at + below(3);
		at = place[i] + length[i];
		byte[i] = byte_at + below(3) * 5;
		byte_at = byte[i] + length[i] * extent;
	}
	if (n == 0)
		length[0] = 1;
	if (kind == 0)
		MPI_Type_indexed(n, length, place, old, &new);
	else if (kind == 1)
		MPI_Type_create_hindexed(n, length, byte, old, &new);
	else if (kind == 2)
		MPI_Type_create_indexed_block(n, length[0], place, old, &new);
	else
		MPI_Type_create_hindexed_block(n, length[0], byte, old, &new);
	return new;
}

static MPI_Datatype make_struct(int depth)
{
	int n = 1 + below(3), length[3];
	MPI_Aint byte[3], at = 0, lb, extent;
	MPI_Datatype part[3], new;

	for (int i = 0; i < n; i++) {
		part[i] = make(depth - 1);
		MPI_Type_get_extent(part[i], &lb, &extent);
		length[i] = below(3);
		byte[i] = at + below(9);
		at = byte[i] + length[i] * extent;
	}
	MPI_Type_create_struct(n, length, byte, part, &new);
	return new;
}

static MPI_Datatype make_array(MPI_Datatype old, int distributed)
{
	int dims = 1 + below(3), all[3], part[3], first[3], how[3], argument[3], grid[3], ranks = 1;
	const int order = below(2) ? MPI_ORDER_C : MPI_ORDER_FORTRAN;
	MPI_Datatype new;

	for (int d = 0; d < dims; d++) {
		const int kinds[] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC,
				     MPI_DISTRIBUTE_NONE};

		all[d] = 1 + below(6);
		part[d] = 1 + below(all[d]);
		first[d] = below(all[d] - part[d] + 1);
		how[d] = kinds[below(3)];
		grid[d] = how[d] == MPI_DISTRIBUTE_NONE ? 1 : 1 + below(3);
		argument[d] = MPI_DISTRIBUTE_DFLT_DARG;
		if (how[d] == MPI_DISTRIBUTE_CYCLIC && below(2))
			argument[d] = 1 + below(3);
		ranks *= grid[d];
	}
	if (distributed)
		MPI_Type_create_darray(ranks, below(ranks), dims, all, how, argument, grid, order,
				       old, &new);
	else
		MPI_Type_create_subarray(dims, all, part, first, order, old, &new);
	return new;
}

#if MPI_VERSION >= 4
static MPI_Datatype make_large(MPI_Datatype old, MPI_Aint extent)
{
	const MPI_Count all[] = {3, 4}, part[] = {2, 2}, first[] = {1, 1};
	const MPI_Count length[] = {1, 2}, place[] = {0, 3 * extent};
	MPI_Datatype new;

	switch (below(5)) {
	case 0:
		MPI_Type_vector_c(3, 2, 4, old, &new);
		break;
	case 1:
		MPI_Type_create_hvector_c(2, 3, 4 * extent, old, &new);
		break;
	case 2:
		MPI_Type_create_hindexed_c(2, length, place, old, &new);
		break;
	case 3:
		MPI_Type_create_subarray_c(2, all, part, first, MPI_ORDER_C, old, &new);
		break;
	default:
		MPI_Type_contiguous_c(3, old, &new);
	}
	return new;
}
#endif

static MPI_Datatype make(int depth)
{
	MPI_Datatype old, new;
	MPI_Aint lb, extent;
	int size;

	if (depth == 0)
		return named();
	old = make(depth - 1);
	MPI_Type_get_extent(old, &lb, &extent);
	switch (below(11)) {
	case 0:
		MPI_Type_contiguous(1 + below(4), old, &new);
		break;
	case 1:
		MPI_Type_vector(1 + below(3), 1 + below(3), 3 + below(3), old, &new);
		break;
	case 2:
		MPI_Type_create_hvector(1 + below(3), 1 + below(3), 3 * extent + below(9), old,
					&new);
		break;
	case 3:
		new = make_indexed(below(4), old, extent);
		break;
	case 4:
		new = make_struct(depth);
		break;
	case 5: /* MPICH 4.0 packs nothing from a copy of a type that was not committed */
		MPI_Type_commit(&old);
		MPI_Type_dup(old, &new);
		break;
	case 6:
		MPI_Type_create_resized(old, 0, lb + extent + below(16), &new);
		break;
	case 7:
		new = make_array(old, 0);
		break;
	case 8:
		MPI_Type_size(old, &size); /* Open MPI refuses to distribute nothing */
		new = make_array(size ? old : MPI_INT, 1);
		break;
#if MPI_VERSION >= 4
	case 9:
		new = make_large(old, extent);
		break;
#endif
	default:
		new = make_indexed(below(4), old, extent);
	}
	return new;
}

/* Where the bytes of one instance lie, in the order of the type map. */
static void places(MPI_Datatype type, int size, int span, uint32_t *place)
{
	static unsigned char from[SPAN], packed[LARGEST];

	memset(place, 0, (size_t)size * 4);
	for (int k = 0; k < 3; k++) {
		for (int i = 0; i < span; i++)
			from[i] = (unsigned char)(i >> (8 * k));
		MPI_Sendrecv(from, 1, type, 0, 0, packed, size, MPI_BYTE, 0, 0, MPI_COMM_SELF,
			     MPI_STATUS_IGNORE);
		for (int i = 0; i < size; i++)
			place[i] |= (uint32_t)packed[i] << (8 * k);
	}
}

static int ascending(const void *a, const void *b)
{
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

/* Do the bytes of all parts together, and each by its number, lie where those of the type do? */
static const char *compare_parts(const struct mpi_layout *layout, uint32_t *place, int size)
{
	static uint32_t found[LARGEST];
	uint64_t n = 0;

	for (uint32_t p = 0; p < layout->parts; p++) {
		const struct repeated *part = &layout->part[p];
		uint64_t copies = 1;

		for (uint32_t l = 0; l < part->levels; l++)
			copies *= part->level[l][0];
		for (uint64_t i = 0; i < copies; i++) {
			uint64_t at = part->start, rest = i;

			for (uint32_t l = part->levels; l-- > 0; rest /= part->level[l][0])
				at += rest % part->level[l][0] * part->level[l][1];
			for (uint64_t b = 0; b < part->bytes && n < (uint64_t)size; b++)
				found[n++] = (uint32_t)(at + b);
		}
	}
	if (n != (uint64_t)size)
		return "bytes of its parts";
	qsort(found, n, sizeof(*found), ascending);
	qsort(place, n, sizeof(*place), ascending);
	if (memcmp(found, place, n * sizeof(*found)) != 0)
		return "places of its parts";
	for (uint64_t k = 0; k < n; k += 1 + n / 50)
		if (mpi_parts_place(layout, k) != place[k])
			return "place of a byte by its number";
	return NULL;
}

/* 0: agrees; else what does not. */
static const char *compare(const struct mpi_layout *layout, MPI_Datatype type, int size)
{
	static uint32_t place[LARGEST];
	MPI_Aint lb, extent;
	uint64_t at = 0, runs = 0;

	MPI_Type_get_true_extent(type, &lb, &extent);
	places(type, size, (int)(lb + extent), place);
	for (int i = 0; i < size; i++)
		runs += i == 0 || place[i] != place[i - 1] + 1;
	MPI_Type_get_extent(type, &lb, &extent);
	if (layout->total == 1 && layout->period == 1 &&
	    layout->block[0][0] == 0) /* every byte: any length says so */
		return runs == 1 && place[0] == 0 && extent == size ? NULL : "not every byte";
	if (layout->total != (uint64_t)size || layout->period != (uint64_t)extent)
		return "total or period";
	if (layout->exact != (runs <= 64))
		return "exact";
	if (layout->exact && layout->blocks != runs)
		return "number of blocks";
	for (uint32_t b = 0; b < layout->blocks; b++)
		for (uint64_t i = 0; i < layout->block[b][1]; i++)
			if (place[at++] != layout->block[b][0] + i)
				return "place of a byte";
	return layout->parts ? compare_parts(layout, place, size) : NULL;
}

int main(int argc, char **argv)
{
	static struct mpi_layout layout;
	int bad = 0, seen = 0, exact = 0, parts = 0;

	MPI_Init(&argc, &argv);
	for (int i = 0; i < TYPES; i++) {
		MPI_Datatype type = make(1 + below(4));
		MPI_Aint lb, extent;
		int size;

		MPI_Type_commit(&type);
		MPI_Type_size(type, &size);
		MPI_Type_get_true_extent(type, &lb, &extent);
		if (size == 0 || size > LARGEST || lb + extent > SPAN)
			continue;
		seen++;
		const char *wrong = mpi_flatten(mpi_abi(0), (uintptr_t)type, &layout)
					    ? compare(&layout, type, size)
					    : "not taken apart";
		exact += layout.exact;
		parts += layout.parts > 0;
		if (wrong) {
			printf("type %d of %d bytes: %s\n", i, size, wrong);
			bad++;
		}
	}
	printf("%d types compared, %d exact, %d in parts, %d differ\n", seen, exact, parts, bad);
	MPI_Finalize();
	return bad != 0 || seen < TYPES / 2 || exact < TYPES / 4 || parts < TYPES / 100;
}
