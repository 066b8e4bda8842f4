/* An oracle: its numbers are its own, written from docs/stream-format.md, so that a mistake in the catalog shows. */
#include "decode.h"

#include <string.h>

#include "check.h"

/* docs/stream-format.md: bytes of rows that a chunk may have. */
enum { MOST_ROWS = 1 << 20 };
enum { HEADER = 192, SLOTS = 128, DEEPEST = 63, OPS = 0x10000 };

struct slot {
	bool defined;
	uint32_t op, object, site, depth;
	uint64_t last[8], slope[8];
};

/* One chunk being read. */
struct chunk_state {
	struct cursor in;
	struct slot slot[SLOTS];
	uint64_t stack[DEEPEST], next_seq, ended;
	uint32_t open, to_open;
};

static uint8_t fields_of[OPS]; /* fields + 1; 0: not named in this chunk */

/* ---- bytes ---- */

static uint8_t take_byte(struct cursor *c)
{
	CHECK(c->at < c->end);
	return *c->at++;
}

uint64_t take_varint(struct cursor *c)
{
	uint64_t value = 0;

	for (int shift = 0; shift < 70; shift += 7) {
		uint8_t b = take_byte(c);

		value |= (uint64_t)(b & 0x7f) << shift;
		if (!(b & 0x80))
			return value;
	}
	CHECK(!"a varint has at most 10 bytes");
	return 0;
}

int64_t take_zigzag(struct cursor *c)
{
	uint64_t v = take_varint(c);

	return (int64_t)(v >> 1 ^ -(v & 1));
}

struct cursor take_text(struct cursor *c)
{
	uint64_t length = take_varint(c);
	struct cursor text = {c->at, c->at + length};

	CHECK(length <= (uint64_t)(c->end - c->at));
	c->at += length;
	return text;
}

static uint64_t number_at(const uint8_t *at, int bytes)
{
	uint64_t value = 0;

	for (int i = bytes - 1; i >= 0; i--)
		value = value << 8 | at[i];
	return value;
}

/* CRC-32C bit by bit. */
static uint32_t plain_crc(const uint8_t *data, size_t n)
{
	uint32_t crc = ~0u;

	for (size_t i = 0; i < n; i++) {
		crc ^= data[i];
		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78u : 0);
	}
	return ~crc;
}

/* ---- what was found ---- */

static struct row *new_row(struct decoded *out)
{
	if (out->rows % 1024 == 0)
		out->row = realloc(out->row, (out->rows + 1024) * sizeof(*out->row));
	CHECK(out->row != NULL);
	memset(&out->row[out->rows], 0, sizeof(*out->row));
	return &out->row[out->rows++];
}

static void add_record(struct decoded *out, uint32_t type, struct cursor payload)
{
	if (out->records % 1024 == 0)
		out->record = realloc(out->record, (out->records + 1024) * sizeof(*out->record));
	CHECK(out->record != NULL);
	out->record[out->records++] =
		(struct record_seen){type, payload.at, (size_t)(payload.end - payload.at)};
}

/* ---- rows ---- */

static void define(struct chunk_state *s, struct slot *slot)
{
	memset(slot, 0, sizeof(*slot));
	slot->op = (uint32_t)take_varint(&s->in);
	slot->object = (uint32_t)take_varint(&s->in);
	slot->site = (uint32_t)take_varint(&s->in);
	slot->depth = (uint32_t)take_varint(&s->in);
	CHECK(slot->op < OPS && fields_of[slot->op] && slot->depth <= DEEPEST);
	slot->defined = true;
}

/* Takes the row's fields: their predictions, and what it says they differ by. */
static void take_fields(struct chunk_state *s, struct slot *slot, uint8_t what, struct row *row)
{
	uint8_t mask = what & 2 ? take_byte(&s->in) : 0;

	row->n = fields_of[slot->op] - 1u;
	CHECK(mask >> row->n == 0);
	for (uint32_t i = 0; i < row->n; i++) {
		uint64_t value = slot->last[i] + slot->slope[i];

		if (mask >> i & 1)
			value += (uint64_t)take_zigzag(&s->in);
		slot->slope[i] = what & 1 ? 0 : value - slot->last[i];
		slot->last[i] = value;
		row->field[i] = (int64_t)value;
	}
}

/* Seq and parent, from depth. */
static void take_place(struct chunk_state *s, struct row *row)
{
	CHECK(s->to_open == 0);
	if (row->depth >= s->open) {
		while (s->open < row->depth)
			s->stack[s->open++] = s->next_seq++;
		row->seq = s->next_seq++;
	} else {
		CHECK(row->depth == s->open - 1);
		row->seq = s->stack[--s->open];
	}
	row->parent = s->open ? s->stack[s->open - 1] : NO_SEQ;
}

static void take_call(struct chunk_state *s, uint8_t b, struct decoded *out)
{
	struct row *row = new_row(out);
	uint8_t index = b < 0x80 ? b : take_byte(&s->in);
	uint8_t what = b < 0x80 ? 0 : take_byte(&s->in);
	struct slot *slot = &s->slot[index % SLOTS];

	CHECK(index < SLOTS && what < 8);
	if (what & 1)
		define(s, slot);
	CHECK(slot->defined);
	take_fields(s, slot, what, row);
	row->op = slot->op;
	row->object = slot->object;
	row->site = slot->site;
	row->depth = slot->depth;
	row->error = what & 4 ? take_varint(&s->in) : 0;
	CHECK(!(what & 4) || row->error);
	row->before = s->ended;
	row->ended = s->ended += take_varint(&s->in);
	row->began = row->ended - take_varint(&s->in);
	take_place(s, row);
}

/* ---- records ---- */

static void take_op(struct cursor in)
{
	uint64_t op = take_varint(&in);
	struct cursor fields;
	uint8_t n;

	take_text(&in);
	take_text(&in);
	take_text(&in);
	fields = take_text(&in);
	n = fields.at < fields.end;
	for (; fields.at < fields.end; fields.at++)
		n += *fields.at == ',';
	CHECK(op < OPS && n <= 8);
	fields_of[op] = n + 1;
	take_varint(&in);
	CHECK(in.at == in.end);
}

static void take_open(struct chunk_state *s, struct cursor in)
{
	uint64_t n = take_varint(&in);

	CHECK(n == s->to_open);
	for (uint64_t i = 0; i < n; i++) {
		s->stack[s->open++] = take_varint(&in);
		CHECK(fields_of[take_varint(&in) - 1]);
		for (int skip = 0; skip < 5; skip++)
			take_varint(&in);
	}
	s->to_open = 0;
	CHECK(in.at == in.end);
}

static void take_unfinished(struct chunk_state *s, struct cursor in, struct decoded *out)
{
	struct row *row = new_row(out);

	row->unfinished = true;
	row->reason = (uint32_t)take_varint(&in);
	row->seq = take_varint(&in);
	row->op = (uint32_t)take_varint(&in) - 1;
	row->depth = (uint32_t)take_varint(&in);
	row->object = (uint32_t)take_varint(&in);
	row->site = (uint32_t)take_varint(&in);
	row->began = take_varint(&in);
	row->ended = take_varint(&in);
	row->field[0] = take_zigzag(&in);
	row->field[1] = take_zigzag(&in);
	CHECK(in.at == in.end && fields_of[row->op]);
	while (s->next_seq <= row->seq) { /* calls entered up to it are open */
		CHECK(s->open < DEEPEST);
		s->stack[s->open++] = s->next_seq++;
	}
	if (row->depth == s->open) /* left before this chunk began: not in its list of open calls */
		CHECK(row->reason == 1 && row->seq < s->next_seq);
	else
		CHECK(row->depth < s->open && s->stack[row->depth] == row->seq);
	row->parent = row->depth ? s->stack[row->depth - 1] : NO_SEQ;
	if (row->reason == 1)
		s->open = row->depth;
}

static void take_record(struct chunk_state *s, uint32_t type, struct decoded *out)
{
	struct cursor payload = take_text(&s->in); /* a length and that many bytes */

	if (type == 1)
		take_op(payload);
	else if (type == 11)
		take_open(s, payload);
	else if (type == 12)
		take_unfinished(s, payload, out);
	else
		add_record(out, type, payload);
}

/* ---- chunks ---- */

static size_t take_chunk(const uint8_t *at, size_t left, struct decoded *out)
{
	static struct chunk_state s;
	static uint8_t copy[HEADER + MOST_ROWS];
	uint32_t committed = (uint32_t)number_at(at + 128, 4);

	CHECK(left >= HEADER && memcmp(at, "FATHOMCK", 8) == 0);
	CHECK(number_at(at + 8, 2) == 1 && number_at(at + 10, 2) == HEADER);
	CHECK(committed <= MOST_ROWS && HEADER + committed <= left);
	memcpy(copy, at, HEADER + committed);
	memset(copy + 132, 0, 4);
	CHECK(number_at(at + 132, 4) == plain_crc(copy, HEADER + committed));
	CHECK(number_at(at + 12, 4) & 1); /* sealed */
	CHECK(number_at(at + 24, 8) == out->chunks++);
	memset(&s, 0, sizeof(s));
	memset(fields_of, 0, sizeof(fields_of));
	s.in = (struct cursor){at + HEADER, at + HEADER + committed};
	s.next_seq = number_at(at + 48, 8);
	s.ended = number_at(at + 120, 8);
	s.to_open = (uint32_t)number_at(at + 136, 4);
	while (s.in.at < s.in.end) {
		uint8_t b = take_byte(&s.in);

		if (b <= 0x80)
			take_call(&s, b, out);
		else
			take_record(&s, b & 0x7f, out);
	}
	CHECK((s.in.at == at + left) == !!(number_at(at + 12, 4) & 2)); /* the last says so */
	out->next_seq = s.next_seq;
	if (committed > out->longest)
		out->longest = committed;
	return HEADER + committed;
}

void decode(const uint8_t *data, size_t bytes, struct decoded *out)
{
	memset(out, 0, sizeof(*out));
	for (size_t at = 0; at < bytes;)
		at += take_chunk(data + at, bytes - at, out);
}
