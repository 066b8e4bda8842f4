/* Completions of PnetCDF: which posted calls a wait completed. The table of pending requests is the process's. */
#include <limits.h>
#include <stdatomic.h>
#include <stddef.h>

#include "handlers/forget.h"
#include "handlers/library.h"
#include "handlers/mpiio.h"
#include "handlers/pnetcdf.h"

enum {
	PENDING = 8192, /* posted calls without a completion; further ones are not linked */
	NULL_REQUEST = -1,
	ALL = -1, /* NC_REQ_ALL in place of how many; of reads and of writes only: */
	ALL_READS = -2,
	ALL_WRITES = -3,
};

/* Ids of requests that were not asked for: even and odd as the library's own. */
static const int unnamed[2] = {INT_MIN, INT_MIN | 1};

struct pending {
	_Atomic uint32_t used;
	int id, request;
	uint64_t library;
	struct call_ref post;
	int64_t bytes;
	_Atomic uintptr_t waiter; /* the wait that was asked for it, by its call */
	int index;                /* there */
};

static struct {
	struct pending pending[PENDING];
	_Atomic uint32_t top;  /* no entry from here on was ever used */
	_Atomic uint32_t next; /* where the search for a free one begins */
	_Atomic bool full;     /* said once */
} requests;

enum { BYTES, REQUESTED, COMPLETED }; /* fields of a wait's row */

static void raise_top(uint32_t to)
{
	uint32_t top = atomic_load(&requests.top);

	while (top < to && !atomic_compare_exchange_weak(&requests.top, &top, to))
		;
}

static uint64_t key_of(int id, int request)
{
	return (uint64_t)(uint32_t)id << 32 | (uint32_t)request;
}

static bool is_named(int request)
{
	return request != unnamed[0] && request != unnamed[1];
}

const int *pnetcdf_request_of(const int *request, int reads)
{
	return request ? request : &unnamed[reads];
}

void pnetcdf_pend(struct call *c, const struct nc_library *lib, int id, int request, int64_t bytes)
{
	const uint32_t from = atomic_load(&requests.next);

	if (request == NULL_REQUEST)
		return; /* nothing was asked for: it is complete */
	for (uint32_t i = 0; i < PENDING; i++) {
		const uint32_t n = (from + i) % PENDING;
		struct pending *p = &requests.pending[n];
		uint32_t unused = 0;

		if (!atomic_compare_exchange_strong(&p->used, &unused, 1))
			continue;
		p->library = lib->owner;
		p->id = id;
		p->request = request;
		p->post = call_reference(c);
		p->bytes = bytes;
		atomic_store(&p->waiter, 0);
		raise_top(n + 1);
		atomic_store(&requests.next, (n + 1) % PENDING);
		if (is_named(request))
			handle_put(&pnetcdf_requests, lib->owner, key_of(id, request), n + 1);
		return;
	}
	if (!atomic_exchange(&requests.full, true))
		note("more than %d PnetCDF requests pending: further completions are not told",
		     PENDING);
}

static void settle(struct pending *p)
{
	if (is_named(p->request))
		handle_take(&pnetcdf_requests, p->library, key_of(p->id, p->request));
	atomic_store(&p->used, 0);
	if (atomic_load(&requests.next) > (uint32_t)(p - requests.pending))
		atomic_store(&requests.next, (uint32_t)(p - requests.pending));
}

/* Requests of reads are odd, of writes even. */
static bool is_of_kind(const struct pending *p, int kind)
{
	return kind == ALL || (kind == ALL_READS) == (p->request & 1);
}

static void mark_all(struct call *c, const struct nc_library *lib, int id, int kind)
{
	const uint32_t top = atomic_load(&requests.top);

	for (uint32_t n = 0; n < top; n++) {
		struct pending *p = &requests.pending[n];

		if (atomic_load(&p->used) && p->library == lib->owner && p->id == id &&
		    is_of_kind(p, kind)) {
			p->index = -1;
			atomic_store(&p->waiter, (uintptr_t)c);
		}
	}
}

/* Before the call: it sets the requests that it completes to NC_REQ_NULL. */
void pnetcdf_waiting(struct call *c, int id, int n, const int *ids)
{
	const struct nc_library *lib = nc_library(c->wrapper, PNETCDF);

	if (!lib)
		return;
	if (n < 0)
		mark_all(c, lib, id, n);
	for (int i = 0; i < n && ids; i++) {
		const uint64_t at = handle_get(&pnetcdf_requests, lib->owner, key_of(id, ids[i]));

		if (at) {
			requests.pending[at - 1].index = i;
			atomic_store(&requests.pending[at - 1].waiter, (uintptr_t)c);
		}
	}
}

/* Of all that were asked for: is this one complete? Of a list, the library says so; of "all", when the wait
 * did not fail or none is left. */
static bool is_complete(const struct nc_library *lib, const struct pending *p, int result,
			const int *ids)
{
	int left = 1;

	if (p->index >= 0)
		return ids[p->index] == NULL_REQUEST;
	if (result && lib->pending && lib->pending(p->id, &left) != 0)
		left = 1;
	return !result || left == 0;
}

static void finish(struct call *c, int result, int n, const int *ids, const int *statuses,
		   bool cancelled)
{
	KEEP_ERRNO;
	const struct nc_library *lib = nc_library(c->wrapper, PNETCDF);
	const uint32_t top = atomic_load(&requests.top);
	int64_t bytes = 0, completed = 0;

	for (uint32_t i = 0; lib && i < top; i++) {
		struct pending *p = &requests.pending[i];
		int error;

		if (!atomic_load(&p->used) || atomic_load(&p->waiter) != (uintptr_t)c)
			continue;
		atomic_store(&p->waiter, 0);
		if (!is_complete(lib, p, result, ids))
			continue;
		error = p->index >= 0 && p->index < n && statuses ? statuses[p->index] : result;
		const bool moved = !cancelled && p->bytes > 0 && (!error || error == NC_ERANGE);
		if (c->thread && p->post.stream)
			call_link(c, p->post, LINK_COMPLETES, moved ? (uint64_t)p->bytes : 0, 100);
		if (!c->error)
			c->error = error;
		bytes += moved ? p->bytes : 0;
		completed++;
		settle(p);
	}
	c->field[BYTES] = bytes;
	c->field[COMPLETED] = completed;
}

void pnetcdf_waited(struct call *c, int result, int id, int n, const int *ids, const int *statuses)
{
	(void)id;
	finish(c, result, n, ids, statuses, false);
}

void pnetcdf_cancelled(struct call *c, int result, int id, int n, const int *ids)
{
	(void)id;
	finish(c, result, n, ids, NULL, true);
}

/* Closing a file cancels what was not waited for. */
void pnetcdf_drop(const struct nc_library *lib, int id)
{
	const uint32_t top = atomic_load(&requests.top);

	for (uint32_t n = 0; n < top; n++) {
		struct pending *p = &requests.pending[n];

		if (atomic_load(&p->used) && p->library == lib->owner && p->id == id)
			settle(p);
	}
}

void pnetcdf_forget(void)
{
	memory_wipe(&requests, sizeof(requests));
}
