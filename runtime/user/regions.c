/* Regions, marks and origins of fathom.h. */
#include <stdint.h>
#include <string.h>

#include "core/base.h"
#include "core/call.h"
#include "core/ops.h"
#include "core/spans.h"
#include "core/text.h"
#include "core/thread.h"
#include "user/names.h"
#include "user/user.h"

static uint32_t op_named(const char *name, const struct fathom_with *with, uint64_t *hash)
{
	return name && layer_on(LAYER_USER) ? name_op(name, with, hash) : UINT32_MAX;
}

static uint32_t object_of(const struct fathom_with *with)
{
	return with && with->object ? named_object(0, with->object) : 0;
}

static void set_fields(struct call *c, const struct fathom_with *with)
{
	const uint32_t n = op_of(c->op)->nfields;

	for (uint32_t i = 0; i < n; i++)
		c->field[i] = with->value[i];
}

static void begin(const char *name, const struct fathom_with *with)
{
	const void *frame = __builtin_frame_address(0), *site = __builtin_return_address(0);
	struct thread *t = span_thread();
	struct call *c = NULL;
	uint64_t hash;
	uint32_t op;

	if (t)
		spans_forget_left(t);
	if (t && t->spans.skipped) {
		t->spans.skipped++;
		return;
	}
	op = op_named(name, with, &hash);
	if (op != UINT32_MAX) /* found by the hash: its op's name may be shared or cut */
		c = span_begin(op, object_of(with), hash, frame, site);
	if (!c) {
		if (t)
			t->spans.skipped += t->spans.depth > 0;
		return;
	}
	set_fields(c, with);
	c->scratch[1] = (uintptr_t)name;
	t = c->thread;
	/* What is called from here on lies in it. */
	if (c->seq != ~0ull && c->depth == t->regions_around)
		t->regions_around++;
}

/* Place of the innermost region of this name, plus 1; 0: none is open. */
static uint32_t find(const struct spans *r, const char *name)
{
	uint32_t i = r->depth;
	uint64_t hash;

	/* A statement of Fortran may be open in it. */
	while (i && op_of(r->call[i - 1].op)->layer != LAYER_USER)
		i--;
	if (!i || !name || r->call[i - 1].scratch[1] == (uintptr_t)name)
		return i;
	hash = text_hash(name, 0);
	while (i && r->call[i - 1].scratch[0] != hash)
		i--;
	return i;
}

static void say_wrong_end(const struct spans *r, const char *name, bool is_open)
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
	struct thread *t = span_thread();
	struct spans *r;
	uint32_t at;

	if (!t)
		return;
	r = &t->spans;
	if (r->skipped) {
		r->skipped--;
		return;
	}
	spans_forget_left(t);
	at = find(r, name);
	if (!at || at < r->depth)
		say_wrong_end(r, name, at);
	if (at)
		span_end(&r->call[at - 1], ended);
}

static void mark(const char *name, const struct fathom_with *with)
{
	const void *frame = __builtin_frame_address(0), *site = __builtin_return_address(0);
	struct call c;
	uint64_t hash;
	const uint32_t op = op_named(name, with, &hash);

	if (op == UINT32_MAX ||
	    !call_enter(&c, op, object_of(with), 0, UNKNOWN_OFFSET, frame, site))
		return;
	set_fields(&c, with);
	call_leave(&c, c.began);
}

static int current(uint64_t *stream, uint64_t *seq)
{
	const struct thread *t = span_thread();

	*stream = *seq = 0;
	if (!t || !t->depth)
		return 0;
	*stream = t->stream;
	*seq = t->page->open[t->depth - 1].seq;
	return 1;
}

static void call_origin(uint64_t stream, uint64_t seq)
{
	struct thread *t = span_thread();

	if (!stream || !t || t->spans.skipped)
		return;
	spans_forget_left(t);
	if (t->spans.depth)
		call_link(&t->spans.call[t->spans.depth - 1], (struct call_ref){stream, seq},
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
