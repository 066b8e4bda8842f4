/* What became of each setting, as hints of the object that it was set for: `tuned NAME`, once per object. */
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "core/hash.h"
#include "handlers/library.h"
#include "handlers/mpiio.h"
#include "tune/settings.h"

enum { KNOWN = 8192, TEXT = 300 };

/* Objects and settings that were told of; a full row is told again. */
static _Atomic uint64_t known[KNOWN];

void tuned_start(struct tuned *t)
{
	t->n = 0;
	t->info = t->open = 0;
	t->file = NULL;
	t->list[0] = t->list[1] = -1;
}

void tuned_tell(struct tuned *t, const struct setting *s, const char *left)
{
	if (t->n == TUNED_MOST)
		return;
	t->report[t->n].setting = s->number;
	t->report[t->n++].left = left;
}

static bool is_new(uint32_t object, uint16_t setting)
{
	const uint64_t key = (uint64_t)object << 16 | setting;

	for (uint32_t i = 0; i < 8; i++) {
		_Atomic uint64_t *at = &known[((key * HASH_FACTOR >> 40) + i) % KNOWN];
		uint64_t there = 0;

		if (atomic_compare_exchange_strong(at, &there, key))
			return true;
		if (there == key)
			return false;
	}
	return true;
}

/* False: it is known. */
static bool tell(struct call *c, uint16_t number, const char *left)
{
	const struct setting *s = setting_at(number);
	char key[80], value[TEXT];

	if (!is_new(c->object, number))
		return false;
	snprintf(key, sizeof(key), "tuned %s", s->key);
	snprintf(value, sizeof(value), "%s%s%s", s->value, left ? "; left: " : "",
		 left ? left : "");
	object_hint(c, c->object, false, key, value);
	return true;
}

void tune_end(struct tuned *t, struct call *c)
{
	KEEP_ERRNO;
	bool news = false;

	for (uint32_t i = 0; c && c->thread && c->object && i < t->n; i++)
		news |= tell(c, t->report[i].setting, t->report[i].left);
	if (news && t->open && t->info)
		mpi_hinted(c, t->open, t->info);
	if (t->info)
		t->info_free(&t->info);
	for (int i = 0; i < 2; i++)
		if (t->list[i] >= 0)
			t->list_close(t->list[i]);
}
