/* Levels: which calls are events, are counted, are not seen. The selection is read when the process starts and
 * whenever the control page says that it changed; what of it is the same for all calls of the process is decided
 * then, and goes into the gate. The rest is asked call by call, on the slow path. */
#include "core/base.h"
#include "core/call.h"
#include "core/clock.h"
#include "core/config.h"
#include "core/state.h"
#include "core/stream.h"
#include "core/thread.h"
#include "core/levels.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "core/levels_read.h"
#include "core/process.h"
#include "core/raw.h"

enum { TRIES = 100 };
enum { CALL = TABLES - 1 }; /* the highest table */

static struct levels both[2], nothing = {.number = UINT32_MAX, .next_edge = UINT64_MAX};
struct levels *_Atomic levels_in_force = &nothing;
static struct levels *latest;     /* in force now, or until the end */
static uint32_t numbers;          /* lock held */
static _Atomic bool switched_off; /* by the program */
static _Atomic uint64_t gate_own; /* of a process without a ring */
static const _Atomic uint64_t gate_none;
const _Atomic uint64_t *_Atomic gate_at = &gate_own;

/* ---- what holds now ---- */

static bool asks_code(const struct levels *l, uint32_t table)
{
	if (l->table[table].regions.end)
		return true;
	for (uint32_t i = 0; i < l->code_ranges; i++)
		if (l->code_range[i].tables >> table & 1)
			return true;
	return false;
}

static uint64_t since_start(void)
{
	return clock_ns() - config.start_ns;
}

/* Which tables are in play, and until when that stays so. */
static void resolve(struct levels *l)
{
	const uint64_t now = since_start();

	l->in_play = l->layers = l->files = l->code = 0;
	l->next_edge = UINT64_MAX;
	for (uint32_t i = 0; i < TABLES; i++) {
		const struct table *k = &l->table[i];
		uint64_t edge = now < k->from ? k->from : k->until;

		if (!k->there || !levels_program(l, &k->programs) || !levels_rank(l, &k->ranks) ||
		    !levels_critical(l, &k->critical) || now >= k->until)
			continue;
		l->layers |= k->layers | k->counted; /* files opened before a window belong to it */
		if (edge < INT64_MAX && edge < l->next_edge)
			l->next_edge = edge;
		l->files |= (uint32_t)(k->files.end != 0) << i;
		l->code |= (uint32_t)asks_code(l, i) << i;
		l->in_play |= (uint32_t)(now >= k->from) << i;
	}
	if (l->code)
		l->layers = config.layers;
	if (atomic_load(&switched_off))
		l->in_play = l->layers = l->files = l->code = 0;
	for (uint32_t layer = 0; layer < LAYERS_MOST; layer++)
		l->usual[layer] = levels_usual(l, layer);
}

/* Bits of layers: their calls are events whatever they are. */
static uint64_t gate_of(const struct levels *l)
{
	const struct table *call = &l->table[CALL];
	uint64_t gate = 0;

	for (uint32_t i = 0; i < TABLES; i++)
		if (l->in_play >> i & 1)
			gate = 1ull << LAYER_FATHOM | (uint64_t)(i + 1) << LEVEL_SHIFT;
	if (l->in_play >> CALL & 1 && !call->operations && !l->code && l->next_edge == UINT64_MAX &&
	    (!(l->files >> CALL & 1) || !l->objects_before))
		gate |= call->layers;
	return gate;
}

/* Where the hot path looks. Whoever changes the selection sets the ring's to 0; without a ring each call asks. */
static void place_gate(struct levels *l)
{
	_Atomic uint64_t *own = process->ring ? &process->ring->gate : &gate_own;

	if (!atomic_load(&control->selection) && !config.files && !config.select && !switched_off) {
		l->gate = atomic_load(&control->gate);
		atomic_store(&gate_at, &control->gate);
		return;
	}
	l->gate = process->ring || control_is_private() ? gate_of(l) : 0;
	atomic_store(own, l->gate);
	atomic_store(&gate_at, own);
}

static void use(struct levels *next)
{
	resolve(next);
	place_gate(next);
	atomic_store(&next->number, ++numbers);
	atomic_store(&levels_in_force, next);
	latest = next;
}

/* ---- where it comes from ---- */

/* A regular file: what comes short is the end. */
static bool read_file(struct levels *l, const char *path)
{
	long fd = raw4(SYS_openat, AT_FDCWD, (long)path, O_RDONLY | O_CLOEXEC, 0), got;

	if (fd < 0)
		return false;
	got = raw3(SYS_read, fd, (long)l->text, SELECTION_BYTES);
	raw3(SYS_close, fd, 0, 0);
	l->bytes = got > 0 ? (uint32_t)got : 0;
	return got > 0 && levels_read(l);
}

static bool load(struct levels *l)
{
	uint64_t selection;

	for (int tries = 0; tries < TRIES; tries++) {
		l->generation = atomic_load(&control->generation);
		selection = atomic_load(&control->selection);
		if (selection) {
			numbered_path(process->path, config.ring, "/selection.", selection);
			if (read_file(l, process->path))
				return true;
		} else if (control_is_private() && config.select) {
			return read_file(l, config.select);
		} else if (levels_of_gate(l, atomic_load(&control->gate), config.files)) {
			return true;
		}
		if (l->generation == atomic_load(&control->generation))
			return false; /* else another one has replaced it meanwhile */
	}
	return false;
}

/* The other of the two, as the present one is. */
static struct levels *copy_in_force(void)
{
	const struct levels *old = atomic_load(&levels_in_force);
	struct levels *next = &both[old == &both[0]];

	atomic_store(&next->number, 0);
	memcpy(&next->generation, &old->generation,
	       sizeof(*next) - offsetof(struct levels, generation));
	return next;
}

/* What cannot be read changes nothing; the mark says so. */
static struct levels *load_changed(void)
{
	struct levels *next = copy_in_force();
	bool good = load(next);
	uint64_t generation = next->generation;

	if (!good) {
		next = copy_in_force();
		next->generation = generation;
	} else {
		next->objects_before = atomic_load(&process->objects);
	}
	process->levels_refused = !good;
	process->levels_changed = ticks();
	return next;
}

static bool asks_critical(const struct levels *l)
{
	for (uint32_t i = 0; i < TABLES; i++)
		if (l->table[i].critical.end)
			return true;
	return false;
}

/* The agent has only named other processes as critical, and says itself which: no mark of each process. */
static bool is_steered(const struct levels *old, const struct levels *next)
{
	const char *was = old->text + old->says, *is = next->text + next->says;
	const size_t length = strcspn(is, "\n") + 1;

	return !process->levels_refused && asks_critical(next) && strncmp(was, is, length) == 0;
}

static void change(const struct levels *old)
{
	struct levels *next = load_changed();

	use(next);
	if (!is_steered(old, next))
		atomic_store(&process->levels_unsaid, true);
}

/* By somebody who did not raise the generation. */
static bool gate_changed(const struct levels *l)
{
	return atomic_load(&gate_at) == &control->gate && atomic_load(&control->gate) != l->gate;
}

static __attribute__((noinline)) void follow(void)
{
	const uint64_t mask = process_lock();
	const struct levels *l = atomic_load(&levels_in_force);

	do {
		if (l == &nothing)
			break; /* the end has come meanwhile */
		if (atomic_load(&control->generation) != l->generation || gate_changed(l))
			change(l);
		else if (since_start() >= l->next_edge)
			use(copy_in_force());
		else
			place_gate((struct levels *)l);
		l = atomic_load(&levels_in_force);
	} while (atomic_load(&control->generation) != l->generation);
	process_unlock(mask);
}

const struct levels *levels_now(void)
{
	const struct levels *l = atomic_load_explicit(&levels_in_force, memory_order_acquire);

	if (likely(atomic_load_explicit(&control->generation, memory_order_relaxed) ==
			   l->generation &&
		   gate_now() == l->gate &&
		   (l->next_edge == UINT64_MAX || since_start() < l->next_edge)))
		return l;
	if (!process || l == &nothing || process_locked_here())
		return l;
	follow();
	return atomic_load(&levels_in_force);
}

void levels_begin(void)
{
	uint64_t mask = process_lock();

	if (!load(&both[0])) {
		memset(both[0].table, 0, sizeof(both[0].table));
		process->levels_refused = true;
		atomic_store(&process->levels_unsaid, true);
	}
	for (uint32_t i = 0; i < TABLES; i++)
		config.layers |= both[0].table[i].layers | both[0].table[i].counted;
	use(&both[0]);
	process_unlock(mask);
}

void levels_rank_known(void)
{
	uint64_t mask = process_lock();

	if (atomic_load(&levels_in_force) != &nothing)
		use(copy_in_force());
	process_unlock(mask);
}

void recording_switch(bool on)
{
	const bool changes =
		atomic_load(&levels_in_force) != &nothing && atomic_load(&switched_off) == on;
	uint64_t mask;

	if (!changes)
		return;
	if (!on) /* while it can be written */
		note("MPI_Pcontrol(0): of what the program did from then on nothing is known");
	mask = process_lock();
	atomic_store(&switched_off, !on);
	use(copy_in_force());
	process_unlock(mask);
	if (on)
		note("MPI_Pcontrol: the program had its calls recorded again");
}

void levels_new_image(void)
{
	struct levels *l = atomic_load(&levels_in_force);

	if (l == &nothing)
		return;
	const bool forked = l->objects_before && !atomic_load(&process->objects);

	if (forked || asks_critical(l)) {
		l = copy_in_force(); /* a fork's child is another process, its objects are all to come */
		l->objects_before = forked ? 0 : l->objects_before;
		use(l);
	} else {
		place_gate(l);
	}
}

void levels_off(void)
{
	atomic_store(&levels_in_force, &nothing);
	atomic_store(&gate_at, &gate_none);
}

void levels_say(struct thread *t)
{
	const struct levels *l = latest;
	struct record r;

	if (!atomic_exchange(&process->levels_unsaid, false) ||
	    atomic_fetch_add(&process->marks, 1) >= MARKS)
		return;
	r = record_begin(t);
	record_varint(&r, process->levels_changed);
	record_string(&r, process->levels_refused ? "lost" : "selection");
	if (process->levels_refused)
		record_string(&r,
			      "a selection that cannot be read: what was before stays in force");
	else
		record_text(&r, l->text + l->says, strcspn(l->text + l->says, "\n"));
	record_varint(&r, l->generation);
	record_end(&r, RECORD_MARK);
}
