#include "layout.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void room(unsigned used, unsigned limit, const char *what)
{
	if (used == limit)
		fail("layout", what, "too many; raise the limit in kernels/common/layout.h");
}

void layout_begin(struct layout *l, unsigned number, const char *format, ...)
{
	va_list list;

	memset(l, 0, sizeof(*l));
	l->number = number;
	l->owner = -1;
	va_start(list, format);
	vsnprintf(l->name, sizeof(l->name), format, list);
	va_end(list);
}

unsigned layout_dim(struct layout *l, const char *name, uint64_t size)
{
	room(l->dims, LAYOUT_DIMS, "dimensions");
	l->dim[l->dims] = (struct dim){.name = name, .size = size};
	return l->dims++;
}

void layout_text(struct layout *l, const char *name, const char *text)
{
	room(l->attributes, LAYOUT_ATTRIBUTES, "attributes");
	l->attribute[l->attributes++] = (struct attribute){.name = name, .text = text};
}

void layout_number(struct layout *l, const char *name, enum element type, double value)
{
	room(l->attributes, LAYOUT_ATTRIBUTES, "attributes");
	l->attribute[l->attributes++] =
		(struct attribute){.name = name, .type = type, .value = value};
}

struct array *layout_array(struct layout *l, enum element type, unsigned rank, const unsigned *dim,
			   const char *format, ...)
{
	va_list list;

	room(l->arrays, LAYOUT_ARRAYS, "arrays");
	struct array *a = &l->array[l->arrays];
	a->type = type;
	a->rank = rank;
	memcpy(a->dim, dim, rank * sizeof(*dim));
	a->seed = (uint64_t)l->number * LAYOUT_ARRAYS + l->arrays++;
	va_start(list, format);
	vsnprintf(a->name, sizeof(a->name), format, list);
	va_end(list);
	return a;
}

struct piece *piece_add(struct pieces *p, const struct layout *l, unsigned array)
{
	if (p->n == p->room) {
		p->room = p->room ? 2 * p->room : 16;
		p->piece = realloc(p->piece, p->room * sizeof(*p->piece));
		if (!p->piece)
			fail("realloc", "pieces", "out of memory");
	}
	struct piece *piece = &p->piece[p->n++];
	memset(piece, 0, sizeof(*piece));
	piece->array = array;
	for (unsigned d = 0; d < l->array[array].rank; d++)
		piece->count[d] = array_extent(l, &l->array[array], d);
	return piece;
}

size_t element_size(enum element type)
{
	return type == FLOAT64 ? 8 : 4;
}

uint64_t array_extent(const struct layout *l, const struct array *a, unsigned d)
{
	return l->dim[a->dim[d]].size;
}

uint64_t array_bytes(const struct layout *l, const struct array *a)
{
	uint64_t bytes = element_size(a->type);

	for (unsigned d = 0; d < a->rank; d++)
		bytes *= array_extent(l, a, d);
	return bytes;
}

uint64_t array_offset(const struct layout *l, unsigned array)
{
	uint64_t offset = 0;

	for (unsigned i = 0; i < array; i++)
		offset += array_bytes(l, &l->array[i]);
	return offset;
}

uint64_t piece_elements(const struct layout *l, const struct piece *p)
{
	uint64_t n = 1;

	for (unsigned d = 0; d < l->array[p->array].rank; d++)
		n *= p->count[d];
	return n;
}

uint64_t piece_bytes(const struct layout *l, const struct piece *p)
{
	return piece_elements(l, p) * element_size(l->array[p->array].type);
}

double element_value(const struct array *a, uint64_t index)
{
	/* the largest prime that fits a float's mantissa: no two array rows have the same values */
	return (double)((index + 1000003 * a->seed) % 16777213);
}

/* One walk over a piece, in the array's order. */
struct walk {
	const struct layout *l;
	const struct array *a;
	const struct piece *p;
	uint64_t stride[LAYOUT_RANK]; /* bytes in memory from one to the next, per dimension */
	bool check;
	uint64_t wrong;
	uint64_t first_wrong; /* index in the array, and what was there */
	double wrong_value;
};

static void put(const struct walk *w, char *at, uint64_t index)
{
	double value = element_value(w->a, index);

	if (w->a->type == FLOAT64)
		*(double *)at = value;
	else if (w->a->type == FLOAT32)
		*(float *)at = (float)value;
	else
		*(int32_t *)at = (int32_t)value;
}

static void look(struct walk *w, const char *at, uint64_t index)
{
	double value = w->a->type == FLOAT64   ? *(const double *)at
		       : w->a->type == FLOAT32 ? *(const float *)at
					       : *(const int32_t *)at;

	if (value == element_value(w->a, index) || w->wrong++)
		return;
	w->first_wrong = index;
	w->wrong_value = value;
}

static void visit(struct walk *w, unsigned d, uint64_t line, char *at)
{
	uint64_t index = line * array_extent(w->l, w->a, d) + w->p->start[d];

	for (uint64_t i = 0; i < w->p->count[d]; i++, index++, at += w->stride[d]) {
		if (d + 1 < w->a->rank)
			visit(w, d + 1, index, at);
		else if (w->check)
			look(w, at, index);
		else
			put(w, at, index);
	}
}

/* Finds the strides and the piece's first byte, and goes. */
static void walk(struct walk *w)
{
	const struct memory *m = &w->p->memory;
	uint64_t stride = element_size(w->a->type);
	char *at = w->p->buffer;

	for (unsigned d = m->rank ? m->rank : w->a->rank; d-- > 0;) {
		if (d < w->a->rank)
			w->stride[d] = stride;
		if (m->rank)
			at += m->start[d] * stride;
		stride *= m->rank ? m->extent[d] : w->p->count[d];
	}
	visit(w, 0, 0, at);
}

void pieces_allocate(struct pieces *p, const struct layout *l)
{
	for (unsigned i = 0; i < p->n; i++) {
		struct piece *piece = &p->piece[i];
		if (piece->lent)
			continue;
		piece->buffer = malloc(piece_bytes(l, piece) + 1);
		if (!piece->buffer)
			fail("malloc", l->array[piece->array].name, "out of memory");
	}
}

void pieces_fill(struct pieces *p, const struct layout *l)
{
	for (unsigned i = 0; i < p->n; i++)
		walk(&(struct walk){.l = l, .a = &l->array[p->piece[i].array], .p = &p->piece[i]});
}

void pieces_spoil(struct pieces *p, const struct layout *l)
{
	for (unsigned i = 0; i < p->n; i++) {
		const struct memory *m = &p->piece[i].memory;
		uint64_t bytes = piece_bytes(l, &p->piece[i]);

		if (m->rank)
			bytes = element_size(l->array[p->piece[i].array].type);
		for (unsigned d = 0; d < m->rank; d++)
			bytes *= m->extent[d];
		memset(p->piece[i].buffer, 0xff, bytes);
	}
}

/* NAME(3,1,4): 12, not 13 */
static void describe(const struct walk *w, char *what, size_t size)
{
	uint64_t rest = w->first_wrong, at[LAYOUT_RANK];
	size_t used;

	for (unsigned d = w->a->rank; d-- > 0;) {
		at[d] = rest % array_extent(w->l, w->a, d);
		rest /= array_extent(w->l, w->a, d);
	}
	snprintf(what, size, "%s(", w->a->name);
	for (unsigned d = 0; d < w->a->rank; d++) {
		used = strlen(what);
		snprintf(what + used, size - used, "%s%" PRIu64, d ? "," : "", at[d]);
	}
	used = strlen(what);
	snprintf(what + used, size - used, "): %.17g, not %.17g", w->wrong_value,
		 element_value(w->a, w->first_wrong));
}

uint64_t pieces_wrong(const struct pieces *p, const struct layout *l, char *what, size_t size)
{
	uint64_t wrong = 0;

	for (unsigned i = 0; i < p->n; i++) {
		struct walk w = {.l = l,
				 .a = &l->array[p->piece[i].array],
				 .p = &p->piece[i],
				 .check = true};
		walk(&w);
		if (w.wrong && !wrong)
			describe(&w, what, size);
		wrong += w.wrong;
	}
	return wrong;
}

void pieces_free(struct pieces *p)
{
	for (unsigned i = 0; i < p->n; i++)
		if (!p->piece[i].lent)
			free(p->piece[i].buffer);
	free(p->piece);
	memset(p, 0, sizeof(*p));
}
