#include "run.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Written by account_begin and account_end only; NULL without -a. */
static FILE *account;
static int account_rank;

void account_begin(const char *directory, int rank)
{
	char path[4096];

	account_rank = rank;
	snprintf(path, sizeof(path), "%s/%d.txt", directory, rank);
	account = fopen(path, "w");
	if (!account)
		fail("fopen", path, strerror(errno));
}

static void list(const uint64_t *value, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		fprintf(account, "%s%" PRIu64, i ? " " : "", value[i]);
	putc('|', account);
}

static void head(const char *layer, bool reading, const char *path)
{
	fprintf(account, "%d|%s|%s|%s|", account_rank, layer, reading ? "read" : "write", path);
}

void account_box(const char *layer, bool reading, const char *path, const char *prefix,
		 const struct layout *l, const struct piece *p)
{
	const struct array *a = &l->array[p->array];
	uint64_t extent[LAYOUT_RANK];

	if (!account)
		return;
	for (unsigned d = 0; d < a->rank; d++)
		extent[d] = array_extent(l, a, d);
	head(layer, reading, path);
	fprintf(account, "%s%s|", prefix, a->name);
	list(extent, a->rank);
	list(p->start, a->rank);
	list(p->count, a->rank);
	fprintf(account, "%" PRIu64 "\n", piece_bytes(l, p));
}

void account_bytes(const char *layer, bool reading, const char *path, uint64_t first, uint64_t span,
		   uint64_t bytes)
{
	if (!account)
		return;
	head(layer, reading, path);
	fprintf(account, "||%" PRIu64 "|%" PRIu64 "|%" PRIu64 "\n", first, span, bytes);
}

void account_end(void)
{
	if (account && fclose(account))
		fail("fclose", "the account", strerror(errno));
	account = NULL;
}
