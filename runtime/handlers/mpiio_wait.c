/* Completions: which posted I/O calls a wait or test completed. The table of pending requests is the
 * process's: whoever waits, in whatever thread, finds the post there. */
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#include "handlers/forget.h"
#include "handlers/mpi_abi.h"
#include "handlers/mpiio.h"

enum {
	PENDING = 8192, /* posted calls without a completion; further ones are not linked */
	WAITS = 32,     /* threads in a wait for I/O at once */
	ITEMS = 1024,   /* I/O requests in one wait */
	NO_ITEM = UINT32_MAX,
};

struct pending {
	_Atomic uint32_t used;
	uint32_t object;
	struct call_ref post;
	int64_t size;
	uintptr_t handle;
};

/* One wait in flight: which of its requests are I/O, and room for statuses that the
 * program does not want. */
struct waiting {
	_Atomic uint32_t used;
	uint32_t n;
	struct item {
		uint32_t index, pending;
	} item[ITEMS];
	_Alignas(16) uint8_t status[ITEMS * MPI_STATUS_BYTES];
};

static struct {
	_Atomic uint32_t count; /* pending now */
	_Atomic uint32_t next;
	_Atomic bool full; /* said once */
	struct pending pending[PENDING];
	struct waiting waiting[WAITS];
} requests;

enum { KEEP_WAITING, KEEP_COMPLETED, KEEP_BYTES };

bool mpi_awaits_io(int count, const struct mpi_request *handles)
{
	const struct mpi_abi *abi = NULL;

	if (atomic_load_explicit(&requests.count, memory_order_relaxed) != 0)
		abi = mpi_abi_known();
	for (int i = 0; abi && handles && i < count; i++) {
		const uintptr_t handle = mpi_handle_at(abi, handles, (size_t)i);

		if (handle != abi->request_null && handle_get(&mpi_requests, 0, handle))
			return true;
	}
	return false;
}

static void overflow(const char *what, int most)
{
	if (!atomic_exchange(&requests.full, true))
		note("more than %d %s: further completions are not told", most, what);
}

void mpi_pend(struct call *c, uintptr_t request, int64_t size)
{
	const uint32_t from = atomic_fetch_add_explicit(&requests.next, 1, memory_order_relaxed);

	for (uint32_t i = 0; i < PENDING; i++) {
		const uint32_t n = (from + i) % PENDING;
		struct pending *p = &requests.pending[n];
		uint32_t unused = 0;

		if (!atomic_compare_exchange_strong(&p->used, &unused, 1))
			continue;
		p->object = c->object;
		p->post = call_reference(c);
		p->size = size;
		p->handle = request;
		if (handle_put(&mpi_requests, 0, request, n + 1)) {
			atomic_fetch_add(&requests.count, 1);
			return;
		}
		atomic_store(&p->used, 0);
		break;
	}
	overflow("I/O requests pending", PENDING);
}

/* Ends a pending call. A new request may already have the same handle: that one stays. */
static void settle(uint32_t n)
{
	struct pending *p = &requests.pending[n];

	if (handle_get(&mpi_requests, 0, p->handle) == n + 1)
		handle_take(&mpi_requests, 0, p->handle);
	atomic_store(&p->used, 0);
	atomic_fetch_sub(&requests.count, 1);
}

static struct waiting *take_waiting(void)
{
	for (uint32_t i = 0; i < WAITS; i++) {
		uint32_t unused = 0;

		if (atomic_compare_exchange_strong(&requests.waiting[i].used, &unused, 1)) {
			requests.waiting[i].n = 0;
			return &requests.waiting[i];
		}
	}
	overflow("threads waiting for I/O", WAITS);
	return NULL;
}

static void add_item(struct waiting **waiting, uint32_t index, uint32_t pending)
{
	if (!*waiting)
		*waiting = take_waiting();
	if (!*waiting || (*waiting)->n == ITEMS) {
		overflow("I/O requests in one wait", ITEMS);
		settle(pending);
		return;
	}
	(*waiting)->item[(*waiting)->n++] = (struct item){index, pending};
}

void mpi_wait(struct call *c, int count, const struct mpi_request *handles,
	      struct mpi_status **status, bool array)
{
	const struct mpi_abi *abi = mpi_absorbed(c) ? NULL : mpi_abi_known();
	struct waiting *waiting = NULL;

	for (int i = 0; abi && handles && i < count; i++) {
		const uintptr_t handle = mpi_handle_at(abi, handles, (size_t)i);

		if (handle == abi->request_null)
			continue;
		const uint64_t pending = handle_get(&mpi_requests, 0, handle);
		if (pending)
			add_item(&waiting, (uint32_t)i, (uint32_t)pending - 1);
	}
	c->scratch[KEEP_WAITING] = (uintptr_t)waiting;
	c->scratch[KEEP_COMPLETED] = c->scratch[KEEP_BYTES] = 0;
	if (!waiting || !status || (uintptr_t)*status != abi->facts->status_ignore ||
	    (array && count > ITEMS))
		return;
	memset(waiting->status, 0, (size_t)(array ? count : 1) * abi->facts->status_bytes);
	*status = (struct mpi_status *)waiting->status;
}

static struct waiting *waiting_of(const struct call *c)
{
	return (struct waiting *)(uintptr_t)c->scratch[KEEP_WAITING];
}

/* One I/O call has ended: its link, its bytes. */
static void complete(struct call *c, int error, const struct mpi_abi *abi, const struct item *item,
		     const uint8_t *status)
{
	const struct pending *p = &requests.pending[item->pending];
	int64_t bytes = -1;

	if (status && error == abi->facts->in_status)
		memcpy(&error, status + abi->facts->status_error, sizeof(error));
	if (status && !error && abi->elements(status, abi->byte, &bytes) != 0)
		bytes = -1;
	if (c->thread && p->post.stream)
		call_link(c, p->post, LINK_COMPLETES, bytes > 0 ? (uint64_t)bytes : 0, 100);
	if (c->scratch[KEEP_COMPLETED] == 0)
		c->object = p->object;
	else if (c->object != p->object)
		c->object = 0; /* several files in one wait: the links tell */
	c->scratch[KEEP_COMPLETED]++;
	c->scratch[KEEP_BYTES] += bytes > 0 ? (uint64_t)bytes : 0;
	settle(item->pending);
}

/* Which status of an array is that of request `index`: its own, or for the -some calls the one whose
 * place in `some` says so. */
static uint32_t status_place(const struct item *item, bool array, const int *completed,
			     const int *some)
{
	if (!array)
		return 0;
	if (!some)
		return item->index;
	for (int k = 0; completed && k < *completed; k++)
		if (some[k] == (int)item->index)
			return (uint32_t)k;
	return NO_ITEM;
}

void mpi_waited(struct call *c, int result, const struct mpi_request *handles,
		const struct mpi_status *status, bool array, const int *completed, const int *some)
{
	const struct mpi_abi *abi = mpi_abi_known();
	struct waiting *waiting = waiting_of(c);

	for (uint32_t i = 0; waiting && i < waiting->n; i++) {
		const struct item *item = &waiting->item[i];
		const uint8_t *own = (const uint8_t *)status;

		if (mpi_handle_at(abi, handles, item->index) != abi->request_null)
			continue; /* a completed request's handle is set to null: this one goes on */
		const uint32_t place = status_place(item, array, completed, some);
		if ((uintptr_t)status == abi->facts->status_ignore || place == NO_ITEM)
			own = NULL;
		else
			own += (size_t)place * abi->facts->status_bytes;
		complete(c, result, abi, item, own);
	}
	if (waiting)
		atomic_store(&waiting->used, 0);
	c->field[0] = (int64_t)c->scratch[KEEP_BYTES];
	c->field[2] = (int64_t)c->scratch[KEEP_COMPLETED];
	c->cancel = c->scratch[KEEP_COMPLETED] == 0;
}

/* MPI_Request_free: the call goes on, but nobody will hear of its end. */
void mpi_released(struct call *c, int result)
{
	struct waiting *waiting = waiting_of(c);

	c->cancel = !waiting || result;
	if (!c->cancel && waiting->n) {
		const struct pending *p = &requests.pending[waiting->item[0].pending];

		c->object = p->object;
		if (c->thread && p->post.stream)
			call_link(c, p->post, LINK_COMPLETES, 0, 100);
		settle(waiting->item[0].pending);
	}
	if (waiting)
		atomic_store(&waiting->used, 0);
}

/* MPI_Cancel: the request is still to be completed. */
void mpi_cancelled(struct call *c)
{
	struct waiting *waiting = waiting_of(c);

	c->cancel = !waiting;
	if (!waiting)
		return;
	if (waiting->n)
		c->object = requests.pending[waiting->item[0].pending].object;
	atomic_store(&waiting->used, 0);
}

void mpi_requests_forget(void)
{
	memory_wipe(&requests, sizeof(requests));
}
