/* The gate around the list of modules, held by fork so that no child inherits it closed. */
#include "edges/gate.h"

#include <stdatomic.h>
#include <stddef.h>

#include "core/raw.h"
#include "edges/vector.h"

/* Reads as zeros in the child of every fork, the bare ones as well. */
struct gate_page {
	_Atomic int owner;         /* thread id of who is inside */
	_Atomic bool loader_lives; /* no: forked, and a lost thread may hold the loader's lock */
};

/* The page is made by the first who enters, at the start. */
static struct {
	struct gate_page *page;
	bool fork_inside; /* fork by a signal handler of the thread inside; its own thread only */
} gate;

static int own_tid(void)
{
	return (int)raw3(SYS_gettid, 0, 0, 0);
}

static bool make_page(void)
{
	if (gate.page)
		return true;
	gate.page = pages_get(4096);
	if (!gate.page)
		return false;
	raw3(SYS_madvise, (long)gate.page, 4096, MADV_WIPEONFORK);
	gate.page->loader_lives = true;
	return true;
}

bool gate_enter(void)
{
	int tid = own_tid(), free = 0;

	if (!make_page())
		return false;
	while (!atomic_compare_exchange_weak(&gate.page->owner, &free, tid)) {
		if (free == tid)
			return false;
		free = 0;
		raw3(SYS_sched_yield, 0, 0, 0);
	}
	return true;
}

void gate_leave(void)
{
	atomic_store(&gate.page->owner, 0);
}

bool modules_known(void)
{
	return gate.page && gate.page->loader_lives;
}

void modules_loader_lives(void)
{
	if (gate.page)
		gate.page->loader_lives = true;
}

void modules_before_fork(void)
{
	gate.fork_inside = gate.page && !gate_enter();
}

void modules_after_fork(void)
{
	if (gate.page && !gate.fork_inside)
		gate_leave();
	gate.fork_inside = false;
}
