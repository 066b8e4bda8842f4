/* What is not usual about a hot call, and learning what is: hot.h. */
#include <errno.h>

#include "core/base.h"
#include "core/call.h"
#include "core/chunk.h"
#include "core/config.h"
#include "core/descriptors.h"
#include "core/ops.h"
#include "core/state.h"
#include "core/thread.h"
#include "core/hot.h"

static const _Atomic uint32_t *object_at(int fd)
{
	struct descriptor_table *all = atomic_load(&descriptors);
	struct descriptor *page = NULL;

	if (all && (unsigned)fd < FDS_PER_PAGE * FD_PAGES)
		page = atomic_load(&all->page[(unsigned)fd / FDS_PER_PAGE]);
	return page ? &page[(unsigned)fd % FDS_PER_PAGE].object : NULL;
}

/* From here on the pattern predicts the calls of u, if it is theirs, their sizes stay as they are, and
 * they do not fail. Which pattern that is changes from chunk to chunk. */
static void link_pattern(struct thread *t, struct usual *u)
{
	uint64_t where = pattern_where(t, (uint32_t)u->depth, u->site);
	uint8_t slot = pattern_slot(u->who, where);
	struct pattern *p = &t->pattern[slot];

	if (p->who != u->who || p->where != where || p->slope[0] || p->slope[2] ||
	    p->next[2] == UINT64_MAX)
		return;
	u->slot = slot;
	u->pattern = p;
	t->user[slot] = u;
}

/* Does the call last that u was found for? It may also be one that only looks so: u is learnt another time. */
static bool in_use(const struct thread *t, const struct usual *u)
{
	const struct open_call *o = &t->page->open[u->depth];

	return u->address && t->depth > u->depth && (o->op | (uint64_t)o->object << 32) == u->who;
}

static void learn_usual(struct thread *t, const struct call *c, int fd, const void *site)
{
	const struct site_entry *e = &t->site[(uintptr_t)site / 4 % SITES];
	struct usual *u = usual_of(t, fd, site, c->depth > 0);
	const _Atomic uint32_t *object = object_at(fd);
	uint64_t gate = gate_now();

	if (!object || !c->object || c->object & OBJECT_LEFT_OUT || in_use(t, u) ||
	    (is_own(t) && (e->address != site || entry_site.slot)) ||
	    ~gate & (1ull << op_of(c->op)->layer | LEVEL_CALL))
		return;
	if (t->user[u->slot] == u) /* no pattern predicts what is replaced */
		t->user[u->slot] = NULL;
	*u = (struct usual){
		.address = site,
		.gate = gate,
		.object = object,
		.who = pattern_who(c),
		.fd = fd,
		.site = is_own(t) ? e->site : 0,
		.depth = t->depth,
		.regions_around = t->regions_around,
	};
	link_pattern(t, u);
}

void hot_learn(const struct call *c, int fd, const void *site)
{
	struct thread *t = self;

	if (c->thread != t || c->seq == ~0ull || t->ready != READY || t->depth != c->depth)
		return;
	t->ready = NOT_READY;
	barrier();
	learn_usual(t, c, fd, site);
	release(t);
}

int64_t hot_leave_slowly(const struct hot_call h, const int64_t *at, int64_t bytes,
			 const void *frame, uint64_t ended)
{
	struct thread *t = h.thread;
	const struct open_call *o;
	struct call c = {.thread = t, .error = bytes == -1 ? errno : 0};

	if (!t->alive)
		return bytes; /* a fork wiped it */
	o = &t->page->open[h.usual->depth];
	if (t->depth <= h.usual->depth ||
	    o->frame != (uintptr_t)frame) { /* taken for left by a jump */
		release(t);
		return bytes;
	}
	c.depth = (uint32_t)h.usual->depth;
	c.seq = o->seq;
	c.op = o->op;
	c.object = o->object;
	c.began = o->began;
	c.field[0] = o->size;
	c.field[1] = at ? *at : o->offset;
	c.field[2] = bytes;
	call_leave_slowly(t, &c, ended);
	t->ready = NOT_READY;
	barrier();
	link_pattern(t, h.usual);
	release(t);
	return bytes;
}
