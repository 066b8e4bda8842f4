/* The ops of this process: the catalog's, and room behind them for what a run brings. */
#include <string.h>

#include "core/call.h"
#include "core/ops.h"
#include "core/state.h"

const struct op *_Atomic op_table = ops;

/* Not wiped by a fork: a child's calls go on under the same numbers. */
struct op *ops_with_room(void)
{
	static struct op *_Atomic enlarged;
	struct op *current = atomic_load(&enlarged), *fresh;

	if (current)
		return current;
	fresh = memory_get((ops_count + OPS_ADDED) * sizeof(*fresh), false);
	if (!fresh)
		return NULL;
	memcpy(fresh, ops, ops_count * sizeof(*fresh));
	if (!atomic_compare_exchange_strong(&enlarged, &current, fresh))
		return current; /* another thread was first; ours stays unused */
	atomic_store(&op_table, fresh);
	return fresh;
}
