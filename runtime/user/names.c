/* Names of regions and marks become ops: then counters have them too, at every level. */
#include "user/names.h"

#include <string.h>

#include "core/call.h"
#include "core/ops.h"
#include "core/state.h"
#include "core/text.h"
#include "user/user.h"

enum { NAME_BYTES = 64, FIELDS_BYTES = 160, PROBES = 32 };

enum { FREE, DEFINING, DEFINED };

/* A place in the table of ops; not wiped by a fork, as the ops are not. */
struct name {
	_Atomic uint32_t state;
	uint64_t hash; /* of name and keys: equal hashes are equal names */
	char text[NAME_BYTES];
	char fields[FIELDS_BYTES];
};

static struct name *_Atomic names; /* OPS_NAMED of them; the first is for all that find no room */
static atomic_bool full_reported;

uint32_t with_count(const struct fathom_with *with)
{
	if (!with)
		return 0;
	return with->count < FATHOM_NUMBERS ? with->count : FATHOM_NUMBERS;
}

static uint64_t hash_of(uint64_t hash, const struct fathom_with *with)
{
	for (uint32_t i = 0; i < with_count(with); i++)
		hash = text_hash(with->key[i] ? with->key[i] : "", hash * 31 + 1);
	return hash;
}

/* "number,level"; what is no name of a column becomes `_`. */
static void put_fields(char *out, const struct fathom_with *with)
{
	for (uint32_t i = 0; i < with_count(with); i++) {
		const char *key = with->key[i] && *with->key[i] ? with->key[i] : "value";

		if (i)
			*out++ = ',';
		for (size_t n = 0; *key && n < FIELDS_BYTES / FATHOM_NUMBERS - 2; key++, n++) {
			char low = (char)(*key | 0x20);

			*out++ = (low >= 'a' && low <= 'z') || (*key >= '0' && *key <= '9') ? *key
											    : '_';
		}
	}
	*out = '\0';
}

/* 1 + the place of the number that counts as bytes; 0: none does. */
static uint8_t bytes_at(const struct fathom_with *with)
{
	for (uint32_t i = 0; i < with_count(with); i++)
		if (with->key[i] && strcmp(with->key[i], "bytes") == 0)
			return (uint8_t)(i + 1);
	return 0;
}

static void make(struct op *op, struct name *n, const char *name, const struct fathom_with *with)
{
	text_copy(n->text, sizeof(n->text), name);
	put_fields(n->fields, with);
	*op = (struct op){
		.layer_name = "user",
		.name = n->text,
		.kind = "meta",
		.fields = n->fields,
		.layer = LAYER_USER,
		.nfields = (uint8_t)with_count(with),
		.bytes_at = bytes_at(with),
	};
}

static struct name *table(struct op *all)
{
	struct name *current = atomic_load(&names), *fresh;

	if (current)
		return current;
	fresh = memory_get(OPS_NAMED * sizeof(*fresh), false);
	if (!fresh)
		return NULL;
	make(&all[ops_count + OPS_BROUGHT], fresh, "(other regions)", NULL);
	if (!atomic_compare_exchange_strong(&names, &current, fresh))
		return current;
	return fresh;
}

uint32_t name_op(const char *name, const struct fathom_with *with, uint64_t *name_hash)
{
	struct op *all = ops_with_room();
	struct name *n = all ? table(all) : NULL;
	uint64_t hash;

	*name_hash = text_hash(name, 0);
	hash = hash_of(*name_hash, with);
	for (uint32_t i = 0; n && i < PROBES; i++) {
		const uint32_t at = 1 + (uint32_t)((hash >> 32) + i) % (OPS_NAMED - 1);
		const uint32_t op = ops_count + OPS_BROUGHT + at;
		uint32_t state = atomic_load_explicit(&n[at].state, memory_order_acquire);

		if (state == DEFINED && n[at].hash == hash)
			return op;
		if (state == FREE &&
		    atomic_compare_exchange_strong(&n[at].state, &state, DEFINING)) {
			make(&all[op], &n[at], name, with);
			n[at].hash = hash;
			atomic_store_explicit(&n[at].state, DEFINED, memory_order_release);
			return op;
		}
	}
	if (!atomic_exchange(&full_reported, true))
		note("fathom.h: more than %d names; further ones are '(other regions)'",
		     OPS_NAMED - 1);
	return n ? ops_count + OPS_BROUGHT : UINT32_MAX;
}
