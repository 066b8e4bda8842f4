/* The compiled selection, read: docs/selection.md, "What processes read". */
#include <string.h>

#include "core/config.h"
#include "core/levels.h"
#include "core/levels_read.h"

static const char *const heads[] = {"fathom-selection 1\n", "fathom-selection 2\n"};
static const char *const table_names[TABLES] = {"job", "file", "call"};

/* One line on its way in. */
struct reading {
	struct levels *l;
	struct table *table; /* NULL before the first */
	uint32_t at, end;    /* of the line, with its end */
};

/* Digits at *at, which moves behind them and what must follow. */
static bool take_number(const char **at, unsigned base, uint64_t *value, char after)
{
	const char *from = *at;

	*value = 0;
	for (;; (*at)++) {
		unsigned digit = **at >= '0' && **at <= '9'   ? (unsigned)(**at - '0')
				 : **at >= 'a' && **at <= 'f' ? (unsigned)(**at - 'a') + 10
							      : 99;

		if (digit >= base)
			break;
		*value = *value * base + digit;
	}
	if (*at == from || *at - from > 19 || **at != after)
		return false;
	(*at)++;
	return true;
}

static bool read_table(struct reading *r, const char *value)
{
	for (uint32_t i = 0; i < TABLES; i++) {
		size_t length = strlen(table_names[i]);

		if (strncmp(value, table_names[i], length) || value[length] != '\n')
			continue;
		r->table = &r->l->table[i];
		if (r->table->there)
			return false;
		r->table->there = true;
		r->table->until = UINT64_MAX;
		r->table->layers = config.gate & LAYER_BITS;
		r->table->counted = config.gate >> COUNTED_LAYERS & LAYER_BITS;
		return true;
	}
	return false;
}

static bool read_says(struct reading *r, const char *value)
{
	r->l->says = (uint32_t)(value - r->l->text);
	return true;
}

static bool read_layers(struct reading *r, const char *value)
{
	uint64_t layers, counted;

	if (!take_number(&value, 16, &layers, ' ') || !take_number(&value, 16, &counted, '\n'))
		return false;
	r->table->layers = layers & LAYER_BITS;
	r->table->counted = counted & LAYER_BITS;
	return true;
}

static bool read_operations(struct reading *r, const char *value)
{
	uint64_t operations;

	if (!take_number(&value, 10, &operations, '\n') || operations - 1 > 2)
		return false;
	r->table->operations = (uint8_t)operations;
	return true;
}

static bool read_time(struct reading *r, const char *value)
{
	return take_number(&value, 10, &r->table->from, ' ') &&
	       take_number(&value, 10, &r->table->until, '\n') && r->table->from < r->table->until;
}

/* Lines of one key stand together. */
static bool add_line(struct lines *lines, const struct reading *r)
{
	if (lines->end && lines->end != r->at)
		return false;
	if (!lines->end)
		lines->begin = r->at;
	lines->end = r->end;
	return true;
}

static bool read_program(struct reading *r, const char *value)
{
	(void)value;
	return add_line(&r->table->programs, r);
}

static bool read_ranks(struct reading *r, const char *value)
{
	(void)value;
	return add_line(&r->table->ranks, r);
}

static bool read_critical(struct reading *r, const char *value)
{
	(void)value;
	return add_line(&r->table->critical, r);
}

static bool read_file(struct reading *r, const char *value)
{
	(void)value;
	return add_line(&r->table->files, r);
}

static bool read_region(struct reading *r, const char *value)
{
	(void)value;
	return add_line(&r->table->regions, r);
}

static bool read_code(struct reading *r, const char *value)
{
	struct code_range *range = &r->l->code_range[r->l->code_ranges];

	if (r->l->code_ranges == CODE_RANGES || !take_number(&value, 16, &range->begin, ' ') ||
	    !take_number(&value, 16, &range->end, ' ') || *value == '\n')
		return false;
	range->module = (uint32_t)(value - r->l->text);
	range->tables = 1u << (r->table - r->l->table);
	r->l->code_ranges++;
	return true;
}

static bool read_line(struct reading *r)
{
	static const struct {
		const char *key;
		bool (*read)(struct reading *, const char *value);
	} keys[] = {
		{"table ", read_table},
		{"layers ", read_layers},
		{"operations ", read_operations},
		{"time ", read_time},
		{"program ", read_program},
		{"ranks ", read_ranks},
		{"critical ", read_critical},
		{"file ", read_file},
		{"region ", read_region},
		{"code ", read_code},
		{"says ", read_says},
	};
	const char *line = r->l->text + r->at;

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		size_t length = strlen(keys[i].key);

		if (strncmp(line, keys[i].key, length) == 0)
			return (r->table || keys[i].read == read_table ||
				keys[i].read == read_says) &&
			       keys[i].read(r, line + length);
	}
	return false;
}

bool levels_read(struct levels *l)
{
	struct reading r = {.l = l, .at = (uint32_t)strlen(heads[0])};

	l->text[l->bytes] = '\0';
	memset(l->table, 0, sizeof(l->table));
	l->code_ranges = 0;
	l->says = 0;
	if ((strncmp(l->text, heads[0], r.at) != 0 && strncmp(l->text, heads[1], r.at) != 0) ||
	    strlen(l->text) != l->bytes)
		return false;
	for (; r.at < l->bytes; r.at = r.end) {
		const char *end = strchr(l->text + r.at, '\n');

		if (!end)
			return false;
		r.end = (uint32_t)(end - l->text) + 1;
		if (!read_line(&r))
			return false;
	}
	return l->says != 0;
}

/* ---- the short forms: as if somebody had compiled them ---- */

static bool append(struct levels *l, const char *text, size_t length)
{
	if (length > SELECTION_BYTES - l->bytes)
		return false;
	memcpy(l->text + l->bytes, text, length);
	l->bytes += (uint32_t)length;
	return true;
}

static bool append_hex(struct levels *l, uint32_t value, char after)
{
	char digits[9];
	int n = 8;

	digits[n] = after;
	do
		digits[--n] = "0123456789abcdef"[value & 15];
	while (value >>= 4);
	return append(l, digits + n, (size_t)(9 - n));
}

static bool append_text(struct levels *l, const char *text)
{
	return append(l, text, strlen(text));
}

bool levels_of_gate(struct levels *l, uint64_t gate, const char *files)
{
	uint64_t level = gate >> LEVEL_SHIFT & 3;
	const char *name = level ? table_names[level - 1] : "off";
	bool room;

	l->bytes = 0;
	room = append_text(l, heads[0]) && append_text(l, "says level ") && append_text(l, name) &&
	       append_text(l, files ? ", some files\n" : "\n");
	if (level)
		room = room && append_text(l, "table ") && append_text(l, name) &&
		       append_text(l, "\nlayers ") &&
		       append_hex(l, (uint32_t)(gate & LAYER_BITS), ' ') &&
		       append_hex(l, (uint32_t)(gate >> COUNTED_LAYERS & LAYER_BITS), '\n');
	for (size_t length; level && files && *files; files += length + (files[length] == '\n')) {
		length = strcspn(files, "\n");
		if (length)
			room = room && append_text(l, "file ") && append(l, files, length) &&
			       append_text(l, "\n");
	}
	return room && levels_read(l);
}
