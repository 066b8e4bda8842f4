/* Takes in the library that `fathom run --probes` built: its ops, its edges, and the functions it needs. */
#include "user/probe.h"

#include <string.h>

#include "core/call.h"
#include "core/clock.h"
#include "core/ops.h"
#include "user/user.h"

static const struct probe_calls probe_calls = {
	.enter = call_enter,
	.leave = call_leave,
	.cancel = call_cancel,
	.layer_on = layer_on,
	.inside = call_inside,
	.ticks = ticks_now,
	.text = call_text,
	.path = call_path,
	.path_object = path_object,
	.named_object = named_object,
	.descriptor_object = descriptor_object,
	.descriptor_position = descriptor_position,
	.descriptor_advance = descriptor_advance,
	.handle = probe_handle,
	.name = probe_name,
	.opens = probe_opens,
	.closes = probe_closes,
};

static bool take(const struct probes *p)
{
	struct op *ops_now = ops_with_room();

	if (p->version != PROBES_VERSION || p->ops_count > OPS_BROUGHT || !ops_now)
		return false;
	memcpy(&ops_now[ops_count], p->ops, p->ops_count * sizeof(*ops_now));
	*p->first_op = ops_count;
	*p->calls = &probe_calls;
	return edge_tables_add(&p->tables, p->wrappers, p->originals);
}

bool user_probes(const struct elf *m)
{
	struct elf_query q = elf_query(PROBES_SYMBOL, NULL);
	const ElfW(Sym) * symbol;

	if (!m->soname || strcmp(m->soname, PROBES_SONAME) != 0)
		return false;
	symbol = elf_find(m, &q);
	return symbol && !elf_undefined(symbol) && take(elf_address(m, symbol));
}
