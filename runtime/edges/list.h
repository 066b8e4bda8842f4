/* Vectors of modules: the load order, a scope. */
#ifndef FATHOM_LIST_H
#define FATHOM_LIST_H

#include "edges/modules.h"
#include "edges/vector.h"

static inline struct module **list_at(const struct vector *v, size_t i)
{
	return vector_at(v, sizeof(struct module *), i);
}

static inline bool list_add(struct vector *v, struct module *m)
{
	struct module **to = vector_add(v, sizeof(struct module *));

	if (to)
		*to = m;
	return to;
}

static inline bool list_has(const struct vector *v, size_t first, const struct module *m)
{
	for (size_t i = first; i < v->count; i++)
		if (*list_at(v, i) == m)
			return true;
	return false;
}

#endif
