/* Accepted writes, file by file. */
#include "ledger.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool same_file(const struct fathom_fwd_failed *line, const struct fathom_fwd_handle *handle)
{
	return !handle || !memcmp(&line->handle, handle, sizeof(*handle));
}

static void widen(struct fathom_fwd_failed *line, const struct fathom_fwd_failed *range)
{
	uint64_t end = line->offset + line->length, other = range->offset + range->length;

	if (range->offset < line->offset)
		line->offset = range->offset;
	line->length = (other > end ? other : end) - line->offset;
}

int ledger_accepted(struct ledger *l, const struct fathom_fwd_failed *range)
{
	for (uint32_t i = 0; i < l->n; i++)
		if (same_file(&l->line[i], &range->handle) && !l->line[i].code) {
			widen(&l->line[i], range);
			return 0;
		}
	if (l->n == l->room) {
		uint32_t room = l->room ? 2 * l->room : 8;
		struct fathom_fwd_failed *more = realloc(l->line, room * sizeof(*more));

		if (!more)
			return ENOMEM;
		l->line = more;
		l->room = room;
	}
	l->line[l->n++] = *range;
	return 0;
}

void ledger_server_restarted(struct ledger *l)
{
	for (uint32_t i = 0; i < l->n; i++)
		l->line[i].code = EIO;
}

static void take_out(struct ledger *l, uint32_t i)
{
	l->line[i] = l->line[--l->n];
}

bool ledger_take_lost(struct ledger *l, const struct fathom_fwd_handle *handle,
		      struct fathom_fwd_failed *range)
{
	for (uint32_t i = 0; i < l->n; i++)
		if (l->line[i].code && same_file(&l->line[i], handle)) {
			*range = l->line[i];
			take_out(l, i);
			return true;
		}
	return false;
}

void ledger_committed(struct ledger *l, const struct fathom_fwd_handle *handle)
{
	for (uint32_t i = l->n; i-- > 0;)
		if (!l->line[i].code && same_file(&l->line[i], handle))
			take_out(l, i);
}

void ledger_failed(struct ledger *l, const struct fathom_fwd_handle *handle, int code)
{
	struct file_error *oldest;

	l->errors++;
	if (!l->failed)
		l->failed = calloc(FAILED_FILES, sizeof(*l->failed));
	oldest = l->failed;
	for (uint32_t i = 0; l->failed && i < FAILED_FILES; i++) {
		struct file_error *e = &l->failed[i];

		if (e->number && !memcmp(&e->handle, handle, sizeof(*handle))) {
			oldest = e;
			break;
		}
		oldest = e->number < oldest->number ? e : oldest;
	}
	if (!oldest) {
		l->dropped = (struct file_error){*handle, l->errors, code};
		return;
	}
	if (oldest->number && memcmp(&oldest->handle, handle, sizeof(*handle)))
		l->dropped = *oldest;
	*oldest = (struct file_error){*handle, l->errors, code};
}

int ledger_error_since(const struct ledger *l, const struct fathom_fwd_handle *handle,
		       uint64_t *mark)
{
	const struct file_error *e = &l->dropped;

	for (uint32_t i = 0; l->failed && i < FAILED_FILES; i++)
		if (l->failed[i].number > e->number &&
		    !memcmp(&l->failed[i].handle, handle, sizeof(*handle)))
			e = &l->failed[i];
	if (e->number <= *mark)
		return 0;
	*mark = l->errors;
	return e->code;
}

void ledger_free(struct ledger *l)
{
	uint64_t errors = l->errors;

	free(l->line);
	free(l->failed);
	*l = (struct ledger){.errors = errors};
}
