/* What a call, a process or a file must be to match a table of the selection. */
#include <string.h>

#include "core/call.h"
#include "core/config.h"
#include "core/state.h"
#include "core/text.h"
#include "core/levels.h"
#include "core/raw.h"

enum { CALL = TABLES - 1 }; /* the highest table */

/* ---- what the process is ---- */

static const char *value_of(const struct levels *l, uint32_t at)
{
	return l->text + at + strcspn(l->text + at, " ") + 1;
}

static uint32_t next_line(const struct levels *l, uint32_t at)
{
	return at + (uint32_t)strcspn(l->text + at, "\n") + 1;
}

static bool matches(const struct levels *l, uint32_t at, const char *text)
{
	const char *glob = value_of(l, at);

	return glob_match(glob, strcspn(glob, "\n"), text);
}

bool levels_program(const struct levels *l, const struct lines *programs)
{
	if (programs->begin == programs->end)
		return true;
	for (uint32_t at = programs->begin; at < programs->end; at = next_line(l, at))
		if (matches(l, at, config.program))
			return true;
	return false;
}

/* A range of ranks or `first-on-node`. */
static bool is_rank(const char *item)
{
	return *item == 'f' ? config.first_on_node : range_has(item, config.rank - 1);
}

/* A process that has no rank, or none yet, is none of them. */
bool levels_rank(const struct levels *l, const struct lines *ranks)
{
	if (ranks->begin == ranks->end)
		return true;
	for (uint32_t at = ranks->begin; config.rank && at < ranks->end; at = next_line(l, at))
		if (is_rank(value_of(l, at)))
			return true;
	return false;
}

/* Lines that the agent keeps: a process that is critical now each, or `none`. */
bool levels_critical(const struct levels *l, const struct lines *critical)
{
	const uint32_t pid = process->pid ? process->pid : (uint32_t)raw3(SYS_getpid, 0, 0, 0);

	if (critical->begin == critical->end)
		return true;
	for (uint32_t at = critical->begin; at < critical->end; at = next_line(l, at))
		if (range_has(value_of(l, at), pid))
			return true;
	return false;
}

/* ---- one call ---- */

static bool has_layer(const struct levels *l, uint32_t table, uint32_t layer)
{
	const struct table *k = &l->table[table];

	return l->in_play >> table & 1 && (k->layers | k->counted) >> layer & 1;
}

static enum level level_in(const struct levels *l, uint32_t table, uint32_t layer)
{
	return table < CALL || l->table[table].layers >> layer & 1 ? table + 1 : LEVEL_FILE;
}

uint8_t levels_usual(const struct levels *l, uint32_t layer)
{
	for (uint32_t i = TABLES; i-- > 0;)
		if (has_layer(l, i, layer))
			return (l->files | l->code) >> i & 1 || l->table[i].operations
				       ? LEVEL_ASKED
				       : level_in(l, i, layer);
	return LEVEL_UNSEEN;
}

enum level level_asked(const struct levels *l, const struct op *called, uint32_t left_out,
		       unsigned code)
{
	for (uint32_t i = TABLES; i-- > 0;) {
		const struct table *k = &l->table[i];

		if (!has_layer(l, i, called->layer) || left_out >> i & 1 ||
		    (l->code >> i & 1 && !(code >> i & 1)) ||
		    (k->operations && !(k->operations & called->direction)))
			continue;
		return level_in(l, i, called->layer);
	}
	return LEVEL_UNSEEN;
}

static bool files_take(const struct levels *l, const struct lines *files, const char *path)
{
	bool taken = *value_of(l, files->begin) == '!';

	for (uint32_t at = files->begin; at < files->end; at = next_line(l, at)) {
		const char *glob = value_of(l, at);
		const bool leaves_out = *glob == '!';

		if (glob_match(glob + leaves_out, strcspn(glob, "\n") - leaves_out, path))
			taken = !leaves_out;
	}
	return taken;
}

uint32_t levels_leave_out(const struct levels *l, const char *path)
{
	uint32_t out = 0;

	for (uint32_t i = 0; i < TABLES; i++)
		if (l->table[i].files.end && !files_take(l, &l->table[i].files, path))
			out |= 1u << i;
	return out;
}

unsigned levels_region(const struct levels *l, const char *name)
{
	unsigned code = 0;

	for (uint32_t i = 0; i < TABLES; i++) {
		const struct lines *regions = &l->table[i].regions;

		for (uint32_t at = regions->begin; at < regions->end; at = next_line(l, at))
			if (matches(l, at, name))
				code |= 1u << i;
	}
	return code;
}

/* `=PATH`, or a build id in hexadecimal. */
static bool is_module(const char *named, const char *id, size_t id_bytes, const char *path)
{
	static const char hex[] = "0123456789abcdef";
	size_t length = strcspn(named, "\n");

	if (*named == '=')
		return length - 1 == strlen(path) && memcmp(named + 1, path, length - 1) == 0;
	if (!id_bytes || length != 2 * id_bytes)
		return false;
	for (size_t i = 0; i < id_bytes; i++)
		if (named[2 * i] != hex[(uint8_t)id[i] >> 4] || named[2 * i + 1] != hex[id[i] & 15])
			return false;
	return true;
}

unsigned levels_code(const struct levels *l, const char *id, size_t id_bytes, const char *path,
		     uint64_t offset)
{
	unsigned code = 0;

	for (uint32_t i = 0; i < l->code_ranges; i++) {
		const struct code_range *range = &l->code_range[i];

		/* The call is the instruction before the one it returns to. */
		if (range->begin < offset && offset <= range->end &&
		    is_module(l->text + range->module, id, id_bytes, path))
			code |= range->tables;
	}
	return code;
}
