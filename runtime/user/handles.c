/* Handles of the user's libraries: which object a call on one is about, and the name it was opened with. */
#include <stdint.h>
#include <string.h>

#include "core/base.h"
#include "core/call.h"
#include "core/state.h"
#include "core/text.h"
#include "user/probe.h"
#include "user/user.h"

enum { NAMES = 4096, NAMES_BYTES = 1 << 18, PROBES = 64 };

/* Wiped by a fork, as handle tables are. Texts are never moved; a full table keeps no more. */
struct names {
	_Atomic uint32_t used;
	_Atomic uint32_t at[NAMES]; /* place of a text, plus 1 */
	char text[NAMES_BYTES];
};

/* In user_handles: number of the object | place of the name << 32. */
static struct names *_Atomic names;

static struct names *names_table(void)
{
	struct names *current = atomic_load(&names), *fresh;

	if (current)
		return current;
	fresh = memory_get(sizeof(*fresh), true);
	if (!fresh || atomic_compare_exchange_strong(&names, &current, fresh))
		return fresh;
	return current;
}

static uint32_t add_name(struct names *n, const char *name)
{
	const size_t bytes = strlen(name) + 1;
	uint32_t at;

	if (bytes > PATH_BYTES || atomic_load(&n->used) + bytes > NAMES_BYTES - PATH_BYTES)
		return 0;
	at = atomic_fetch_add(&n->used, (uint32_t)bytes);
	if (at + bytes > NAMES_BYTES)
		return 0;
	memcpy(n->text + at, name, bytes);
	return at + 1;
}

/* Place of the text, plus 1; 0: no room. */
static uint32_t keep(const char *name)
{
	struct names *n = name ? names_table() : NULL;
	const uint64_t hash = n ? text_hash(name, 0) : 0;

	for (uint32_t i = 0; n && i < PROBES; i++) {
		_Atomic uint32_t *slot = &n->at[(hash + i) % NAMES];
		uint32_t there = atomic_load(slot);

		if (!there) {
			const uint32_t at = add_name(n, name);

			if (at && atomic_compare_exchange_strong(slot, &there, at))
				return at;
		}
		if (!there)
			return 0;
		if (strcmp(n->text + there - 1, name) == 0)
			return there;
	}
	return 0;
}

uint32_t probe_handle(uint32_t api, uint64_t handle)
{
	return (uint32_t)handle_get(&user_handles, api, handle);
}

const char *probe_name(uint32_t api, uint64_t handle)
{
	const uint64_t at = handle_get(&user_handles, api, handle) >> 32;
	const struct names *n = atomic_load(&names);

	return n && at ? n->text + at - 1 : NULL;
}

void probe_opens(uint32_t api, uint64_t handle, uint32_t object, const char *name)
{
	if (handle != (uint64_t)NO_HANDLE && object)
		handle_put(&user_handles, api, handle, object | (uint64_t)keep(name) << 32);
}

void probe_closes(uint32_t api, uint64_t handle)
{
	handle_take(&user_handles, api, handle);
}

void user_forget(void)
{
	memory_wipe(atomic_load(&names), sizeof(struct names));
}
