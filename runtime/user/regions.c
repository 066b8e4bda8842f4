/* Regions, marks and origins of fathom.h. A region is a call whose struct call lies in its thread, for no
 * wrapper holds it. */
#include <stdint.h>
#include <string.h>

#include "core/base.h"
#include "core/call.h"
#include "core/ops.h"
#include "core/text.h"
#include "core/thread.h"
#include "user/names.h"
#include "user/user.h"

/* Whose stream the calls of this moment go to: a signal handler's may be another. NULL: nobody's yet. */
static struct thread *mine(void)
{
	struct thread *t = self;

	while (t && t->alive && t->ready <= STALE)
		t = t->side;
	return t && t->alive ? t : NULL;
}

/* A counted call (seq ~0) is on no stack that could tell. */
static bool is_open(const struct thread *t, const struct call *c)
{
	return c->seq == ~0ull || (t->depth > c->depth && t->page->open[c->depth].seq == c->seq);
}

/* Those that a jump, or the end of the call around them, ended. */
static void forget_left(struct thread *t)
{
	while (t->regions.depth && !is_open(t, &t->regions.call[t->regions.depth - 1]))
		t->regions.depth--;
}

static bool enter(struct call *c, const char *name, const struct fathom_with *with,
		  const void *frame, const void *site)
{
	uint32_t op, object, n;
	uint64_t hash;

	if (!name || !layer_on(LAYER_USER))
		return false;
	op = name_op(name, with, &hash);
	object = with && with->object ? named_object(0, with->object) : 0;
	if (op == UINT32_MAX || !call_enter(c, op, object, 0, UNKNOWN_OFFSET, frame, site))
		return false;
	n = op_of(op)->nfields;
	for (uint32_t i = 0; i < n; i++)
		c->field[i] = with->value[i];
	c->scratch[0] = hash; /* its op's name may be shared or cut */
	c->scratch[1] = (uintptr_t)name;
	return true;
}

/* What the thread calls from here on lies in it. */
static void open_region(struct call *c)
{
	struct thread *t = c->thread;

	call_outlives_frame(c);
	if (c->seq != ~0ull && c->depth == t->regions_around)
		t->regions_around++;
}

/* The first of a thread, or of a fork's child: there is nowhere to put it before it is entered. */
static void begin_first(const char *name, const struct fathom_with *with, const void *frame,
			const void *site)
{
	struct call c;

	if (!enter(&c, name, with, frame, site))
		return;
	open_region(&c);
	c.thread->regions.call[0] = c;
	c.thread->regions.depth = 1;
}

static void begin(const char *name, const struct fathom_with *with)
{
	const void *frame = __builtin_frame_address(0), *site = __builtin_return_address(0);
	struct thread *t = mine();
	struct regions *r;
	struct call *c;

	if (!t) {
		begin_first(name, with, frame, site);
		return;
	}
	r = &t->regions;
	forget_left(t);
	if (r->skipped || r->depth == CALL_DEPTH) {
		r->skipped++;
		return;
	}
	c = &r->call[r->depth++]; /* a signal handler's go above it */
	c->seq = ~0ull;
	barrier();
	if (enter(c, name, with, frame, site)) {
		open_region(c);
		return;
	}
	r->depth--;
	r->skipped += r->depth > 0;
}

/* Place of the innermost region of this name, plus 1; 0: none is open. */
static uint32_t find(const struct regions *r, const char *name)
{
	uint32_t i = r->depth;
	uint64_t hash;

	if (!i || !name || r->call[i - 1].scratch[1] == (uintptr_t)name)
		return i;
	hash = text_hash(name, 0);
	while (i && r->call[i - 1].scratch[0] != hash)
		i--;
	return i;
}

static void say_wrong_end(const struct regions *r, const char *name, bool is_open)
{
	if (is_open)
		note("fathom_end: '%s' ends while '%s' is open in it", name,
		     op_of(r->call[r->depth - 1].op)->name);
	else if (layer_on(LAYER_USER))
		note("fathom_end: no region '%s' is open", name ? name : "");
}

static void end(const char *name)
{
	const uint64_t ended = ticks_now();
	struct thread *t = mine();
	struct regions *r;
	uint32_t at;

	if (!t)
		return;
	r = &t->regions;
	if (r->skipped) {
		r->skipped--;
		return;
	}
	forget_left(t);
	at = find(r, name);
	if (!at || at < r->depth)
		say_wrong_end(r, name, at);
	while (at && r->depth > at) /* recorded ones become unfinished as the outer one ends */
		if (r->call[--r->depth].seq == ~0ull)
			call_leave(&r->call[r->depth], ended);
	if (at) {
		call_leave(&r->call[at - 1], ended);
		forget_regions_around(t);
		r->depth = at - 1;
	}
}

static void mark(const char *name, const struct fathom_with *with)
{
	struct call c;

	if (enter(&c, name, with, __builtin_frame_address(0), __builtin_return_address(0)))
		call_leave(&c, c.began);
}

static int current(uint64_t *stream, uint64_t *seq)
{
	const struct thread *t = mine();

	*stream = *seq = 0;
	if (!t || !t->depth)
		return 0;
	*stream = t->stream;
	*seq = t->page->open[t->depth - 1].seq;
	return 1;
}

static void call_origin(uint64_t stream, uint64_t seq)
{
	struct thread *t = mine();

	if (!stream || !t || t->regions.skipped)
		return;
	forget_left(t);
	if (t->regions.depth)
		call_link(&t->regions.call[t->regions.depth - 1], (struct call_ref){stream, seq},
			  LINK_SERVES, 0, 100);
	else if (layer_on(LAYER_USER))
		note("fathom_call_origin: no region is open that could serve a call");
}

static const struct fathom_calls calls = {begin, end, mark, current, call_origin};

/* ---- where programs find them ---- */

enum { NOTE_HEAD = 12, NOTE_NAME = 8 };

/* One note of fathom.h: 12 bytes of lengths and version, "Fathom", and how far from there the slot lies. */
static void fill_slot(const struct elf *m, uintptr_t note)
{
	const uintptr_t from = note + NOTE_HEAD + NOTE_NAME;
	int32_t far;
	uintptr_t slot;

	memcpy(&far, (const void *)from, sizeof(far));
	slot = from + (uintptr_t)(intptr_t)far;
	if (elf_inside(m, slot) && slot % sizeof(void *) == 0)
		*(const struct fathom_calls *volatile *)slot = &calls;
}

static void read_notes(const struct elf *m, uintptr_t at, uintptr_t end, size_t align)
{
	static const uint32_t ours[3] = {7, 4, 1};
	uint32_t head[3];

	while (at + NOTE_HEAD <= end) {
		memcpy(head, (const void *)at, sizeof(head));
		if (memcmp(head, ours, sizeof(head)) == 0 &&
		    at + NOTE_HEAD + NOTE_NAME + sizeof(int32_t) <= end &&
		    memcmp((const void *)(at + NOTE_HEAD), "Fathom", 7) == 0)
			fill_slot(m, at);
		at += NOTE_HEAD + ((head[0] + align - 1) & -align);
		at += (head[1] + align - 1) & -align;
	}
}

void user_slots(const struct elf *m)
{
	for (size_t i = 0; i < m->headers_count; i++) {
		const ElfW(Phdr) *p = &m->headers[i];

		if (p->p_type == PT_NOTE)
			read_notes(m, m->base + p->p_vaddr, m->base + p->p_vaddr + p->p_memsz,
				   p->p_align == 8 ? 8 : 4);
	}
}

void *user_symbol(const char *name)
{
	static const struct {
		const char *name;
		void *function;
	} symbols[] = {
		{"fathom_begin_with", begin},        {"fathom_end", end},
		{"fathom_mark_with", mark},          {"fathom_current", current},
		{"fathom_call_origin", call_origin},
	};

	if (strncmp(name, "fathom_", 7) != 0)
		return NULL;
	for (size_t i = 0; i < sizeof(symbols) / sizeof(*symbols); i++)
		if (strcmp(name, symbols[i].name) == 0)
			return symbols[i].function;
	return NULL;
}
