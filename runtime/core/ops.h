/* Ops: those of the catalog, of the program, and our own. */
#ifndef FATHOM_CORE_OPS_H
#define FATHOM_CORE_OPS_H

#include <stdatomic.h>
#include <stdint.h>

#include "core/base.h"
#include "core/call.h"

/* Fathom's own ops, layer `fathom`, numbered above the catalog's. */
enum { OP_FATHOM = 0xff00, OP_FLUSH = OP_FATHOM, OP_START, OP_PATCH, OP_FATHOM_END };
extern const struct op fathom_ops[];

/* Between them, from ops_count on: ops of the user's own catalogs, then names of regions (runtime/user). */
enum { OPS_BROUGHT = 512, OPS_NAMED = 512, OPS_ADDED = OPS_BROUGHT + OPS_NAMED };
extern const struct op *_Atomic op_table;
/* The table with room for those; what is there never changes. NULL: no memory. */
struct op *ops_with_room(void);

static inline const struct op *op_of(uint32_t op)
{
	return likely(op < OP_FATHOM) ? &atomic_load_explicit(&op_table, memory_order_relaxed)[op]
				      : &fathom_ops[op - OP_FATHOM];
}

/* Place of an op in tables that have one for each. */
static inline uint32_t op_index(uint32_t op)
{
	return op < OP_FATHOM ? op : ops_count + OPS_ADDED + (op - OP_FATHOM);
}

#endif
