/* Event sets of HDF5: which asynchronous calls a wait completed. The table of them is the process's. */
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#include "handlers/forget.h"
#include "handlers/hdf5.h"
#include "handlers/library.h"

enum { PENDING = 4096 }; /* calls that no wait has completed; further ones are not linked */

static struct {
	struct post {
		_Atomic uint32_t state;
		uint64_t library;
		int64_t events;
		struct call_ref call;
		int64_t bytes;
	} post[PENDING];
	_Atomic uint32_t top; /* no entry from here on was ever used */
	_Atomic bool full;    /* said once */
} posts;

enum { FREE, FILLING, POSTED };
enum { BYTES, COMPLETED }; /* fields of a wait's row */

/* The result of a call with an event set, if it is done: HDF5 itself does all at once, a connector that works
 * in the background has something in progress, and must not be asked for what it has not made. */
int64_t hdf5_now(uint32_t wrapper, int64_t events, int64_t result)
{
	const struct hdf5_library *lib = hdf5_library(wrapper);
	size_t open = 0;

	if (result < 0 || events == 0)
		return result;
	if (!lib || !lib->event_count || lib->event_count(events, &open) < 0 || open)
		return HDF5_PENDING;
	return result;
}

/* What data a call moves when it is done; its fields begin with size and bytes. */
static int64_t bytes_of(const struct call *c)
{
	const bool data = strncmp(ops[c->op].fields, "size,bytes", 10) == 0;

	return data && c->field[1] > 0 ? c->field[1] : 0;
}

static struct post *post_free(void)
{
	for (uint32_t i = 0; i < PENDING; i++) {
		uint32_t state = FREE, top = atomic_load(&posts.top);

		if (!atomic_compare_exchange_strong(&posts.post[i].state, &state, FILLING))
			continue;
		while (top <= i && !atomic_compare_exchange_weak(&posts.top, &top, i + 1))
			;
		return &posts.post[i];
	}
	return NULL;
}

void hdf5_posted(struct call *c, int64_t events)
{
	KEEP_ERRNO;
	const struct hdf5_library *lib = hdf5_library(c->wrapper);
	struct post *p;

	if (!c->thread || !lib || !events || c->error)
		return;
	p = post_free();
	if (!p) {
		if (!atomic_exchange(&posts.full, true))
			note("more than %d HDF5 calls in event sets: further completions are not "
			     "told",
			     PENDING);
		return;
	}
	p->library = lib->owner;
	p->events = events;
	p->call = call_reference(c);
	p->bytes = bytes_of(c);
	atomic_store(&p->state, POSTED);
}

static struct post *next_post(const struct hdf5_library *lib, int64_t events, uint32_t *from)
{
	for (const uint32_t top = atomic_load(&posts.top); *from < top; ++*from) {
		struct post *p = &posts.post[*from];

		if (atomic_load(&p->state) == POSTED && p->library == lib->owner &&
		    p->events == events)
			return p;
	}
	return NULL;
}

/* A wait says how many are left, not which: all are complete when none is. */
void hdf5_waited(struct call *c, int64_t result, int64_t events)
{
	KEEP_ERRNO;
	const struct hdf5_library *lib = hdf5_library(c->wrapper);
	size_t left = 0;
	struct post *p;

	if (result < 0 || !lib || !lib->event_count || lib->event_count(events, &left) < 0 || left)
		return;
	for (uint32_t i = 0; (p = next_post(lib, events, &i)); atomic_store(&p->state, FREE)) {
		if (p->call.stream)
			call_link(c, p->call, LINK_COMPLETES, (uint64_t)p->bytes, 100);
		c->field[BYTES] += p->bytes;
		c->field[COMPLETED]++;
	}
}

/* Its number may be another's next. */
void hdf5_events_closed(struct call *c, int64_t result, int64_t events)
{
	const struct hdf5_library *lib = hdf5_library(c->wrapper);
	struct post *p;

	if (result < 0 || !lib)
		return;
	for (uint32_t i = 0; (p = next_post(lib, events, &i));)
		atomic_store(&p->state, FREE);
}

void hdf5_events_forget(void)
{
	memory_wipe(&posts, sizeof(posts));
}
