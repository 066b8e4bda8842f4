/* Places where calls are counted: the straight way to their end, and learning them. count.h. */
#include <errno.h>

#include "core/base.h"
#include "core/call.h"
#include "core/ops.h"
#include "core/stream.h"
#include "core/thread.h"
#include "core/counters.h"
#include "core/access.h"
#include "core/hot.h"

static bool is_plain(const struct op *op)
{
	return op->direction && op->size_at == 1 && op->offset_at == 2 && op->bytes_at == 3 &&
	       !op->selection_at && !op->pieces_at && !op->beside;
}

/* Once its counter and its first access are known. */
static void look_at_accesses(const struct thread *t, struct counter_place *p)
{
	const struct op *op = op_of((uint32_t)p->who);
	struct data_counter *n = p->data;

	if (!is_plain(op) || !(p->heat = heat_row((struct thread *)t, (uint32_t)p->who)))
		return;
	if (n->sum.zero == COUNTER_SIZES)
		p->plain = PLAIN_SIZES;
	else if (n->home)
		p->plain = PLAIN_ALL;
	p->home = n->home ? &t->data->entry[n->home - 1] : NULL;
}

static __attribute__((noinline)) void count_other(struct thread *t, const struct call *c,
						  uint64_t ended)
{
	struct counter_place *p = &t->place[c->place - t->place];
	const struct op *op = op_of(c->op);
	const int64_t moved = op->bytes_at ? c->field[op->bytes_at - 1] : 0;
	const uint64_t bytes = moved > 0 ? (uint64_t)moved : 0;

	counter_sum(p->sum, bytes, c->error != 0, c->began, ended);
	if (!op->direction)
		return;
	heat_add(t, c, bytes, ended);
	if (c->error || op->beside)
		return;
	access_add(t, p->data, c);
	if (!p->plain)
		look_at_accesses(t, p);
}

static inline void leave_around(struct thread *t, const struct call *c)
{
	t->around.frame = c->outer.frame;
	t->around.what = c->outer.what;
}

bool count_leave(struct thread *t, const struct call *c, uint64_t ended)
{
	const struct counter_place *p = c->place;

	if (unlikely(!p) || unlikely(!has_place(t, c->changes)) ||
	    unlikely(p->who != (c->op | (uint64_t)(c->object & t->objects) << 32)))
		return false;
	leave_around(t, c);
	if (!p->plain || unlikely(c->error) ||
	    unlikely(!count_at_once(t, p, c->field[0], c->field[1], c->field[2], c->began, ended)))
		count_other(t, c, ended);
	release(t);
	return true;
}

int64_t hot_count_slowly(struct counting e, int64_t size, int64_t offset, int64_t bytes,
			 uint64_t ended)
{
	struct call c = {.error = bytes == -1 ? errno : 0, .field = {size, offset, bytes}};

	count_call(&c, &e);
	call_leave(&c, ended);
	return bytes;
}

/* Two such calls without a row between them: more may follow. */
static bool come_together(struct thread *t)
{
	const uint64_t before = t->counted_at;

	t->counted_at = t->next_seq;
	return before == t->next_seq && !t->depth && !t->last_inside;
}

/* Whether its like is counted is not asked again until the selection changes: it may depend on the file, but on
 * no code, and no time. At level job, for all, a file is nothing. */
void count_learn(struct thread *t, const struct call *c, enum level level, struct counter *sum)
{
	const struct levels *l = levels_now();
	const struct op *op = op_of(c->op);
	const uint32_t objects = l->in_play >> LEVEL_JOB || l->files ? ~0u : 0;
	const uint32_t object = c->object & objects;
	const uint32_t number = atomic_load(&l->number);
	struct around inside = {.op = (uint16_t)(c->op + 1),
				.seen = (uint16_t)(c->op + 1),
				.beyond = (uint16_t)enclosing_op(t),
				.left_out = (uint8_t)left_out_of(t, l, c),
				.inside = true};
	struct counter_place *p;

	if (!come_together(t) || t != self || !sum || l->code || l->next_edge != UINT64_MAX ||
	    !l->gate)
		return;
	t->objects = objects;
	p = &t->place[place_number(c->op, object)];
	*p = (struct counter_place){
		.who = c->op | (uint64_t)object << 32,
		.levels = number,
		.resets = t->resets,
		.outer = t->around.what,
		.inside = inside.what,
		.sum = sum,
		.level = (uint8_t)level,
		.direction = op->direction,
		.uncut = 1u << op->layer,
	};
	t->changes++;
	if (op->direction)
		look_at_accesses(t, p);
	t->counts = true;
	t->when_ready = usual_state(t);
}
