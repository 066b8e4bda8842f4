/* A program that limits its own system calls (seccomp) would be killed at the next one of ours. From just before
 * that on we make none: rows and counters go to memory that was set aside, and stay in the ring, which others
 * bring in when the process is gone. docs/interception.md, "Programs that limit themselves". */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "core/call.h"
#include "core/clock.h"
#include "core/config.h"
#include "core/raw.h"
#include "core/ring.h"
#include "core/state.h"
#include "core/thread.h"
#include "core/process.h"

/* The environment's word that a new image begins by: it would make system calls, too. */
static struct {
	char **place;
	char *was;
} run_variable;
static char no_run[] = "FATHOM_RUN=";

static void hide_run(void)
{
	for (char **at = environ; at && *at; at++) {
		if (strncmp(*at, no_run, sizeof(no_run) - 1) != 0 || *at == no_run)
			continue;
		run_variable.place = at;
		run_variable.was = *at;
		*at = no_run;
		return;
	}
}

static void show_run(void)
{
	if (run_variable.place && *run_variable.place == no_run)
		*run_variable.place = run_variable.was;
	run_variable.place = NULL;
}

/* Streams and tables of threads to come. */
static void set_memory_aside(void)
{
	enum { MOST = 16 << 20, LEAST = 1 << 20 };

	for (size_t bytes = MOST; bytes >= LEAST && !process->quiet_memory; bytes /= 2) {
		process->quiet_memory = memory_get(bytes, true);
		process->quiet_bytes = process->quiet_memory ? bytes : 0;
	}
}

void process_confined(void)
{
	struct thread *t = config.on && !raw_closed() && !in_vfork_child() ? thread_claim() : NULL;
	uint64_t mask;

	if (!t)
		return;
	mask = process_lock();
	ring_set_aside();
	process_unlock(mask);
	thread_release(t);
}

static void set_aside(void)
{
	const uint64_t mask = process_lock();

	if (!process->quiet_memory)
		set_memory_aside();
	ring_set_aside();
	process_unlock(mask);
}

/* Of the thread that is about to limit the process. */
static void *_Atomic limiting;

/* The child runs on our memory, but the limits are its own: it is not recorded from here. */
static void leave_vfork_child(void)
{
	self->broken = 1;
	self->ready = NOT_READY;
	hide_run();
}

/* All that needs system calls. */
static void get_ready(void)
{
	struct thread *t;

	note("seccomp: the program limits its system calls: from here on Fathom makes none in it; "
	     "rows stay in shared memory, at most 8 MiB, then calls are counted; processes that it "
	     "starts are not recorded");
	t = thread_claim();
	if (!t)
		return;
	path_absolute(t->path, sizeof(t->path), AT_FDCWD, "."); /* kept by who asked */
	thread_release(t);
	set_aside();
}

void process_quiet(bool no_clock)
{
	if (!config.on)
		return;
	if (in_vfork_child()) {
		if (!self->broken)
			leave_vfork_child();
		return;
	}
	if (no_clock)
		clock_stop();
	if (raw_closed())
		return;
	get_ready();
	hide_run();
	clock_keep();
	atomic_store(&limiting, raw_thread());
	raw_close();
}

void process_limited(bool done)
{
	if (atomic_load(&limiting) != raw_thread() || in_vfork_child())
		return;
	atomic_store(&limiting, NULL);
	if (done)
		return;
	raw_open();
	clock_go_on();
	show_run();
}

void process_quiet_child_over(void)
{
	if (!raw_closed())
		show_run();
}
