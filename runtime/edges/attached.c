/* The door for whoever loads us into a program that runs: the entry point of our ELF header, for we export nothing. */
#include <stddef.h>
#include <string.h>

#include "core/process.h"
#include "edges/edges.h"
#include "edges/hidden.h"
#include "edges/modules.h"
#include "edges/start.h"
#include "handlers/forget.h"
#include "handlers/mpi_abi.h"
#include "user/user.h"

enum { ROOM, ATTACH, DETACH, JUMPS };
enum { DONE, RECORDED_ALREADY, LEFT_OUT, NOT_RECORDED }; /* python/fathom/attach/injector.py */

/* Settings go in, the name of a run comes out. */
static char room[65536];
/* What handlers know is of a recording that ended. */
static bool outdated;

/* Programs tell which MPI it is by opening files and by starting it: both may be past. */
static void meet_mpi(void)
{
	for (uint32_t i = 0; i < edge_tables.symbols_count; i++) {
		const struct edge_symbol *s = &edge_tables.symbols[i];
		const struct edge_api *api = &edge_tables.apis[s->api];

		if (!api->inside && strcmp(api->layer_name, "mpiio") == 0 &&
		    edge_library(s->wrapper)) {
			mpi_abi(s->wrapper);
			return;
		}
	}
}

static const char *message_value(const char *name)
{
	for (const char *at = room; *at; at += strlen(at) + 1)
		if (strncmp(at, name, strlen(name)) == 0)
			return at + strlen(name);
	return NULL;
}

static int attach(void)
{
	if (outdated) {
		handlers_forget();
		user_forget();
	}
	outdated = false;
	if (!process_attach(room, false))
		return LEFT_OUT;
	modules_begin_late();
	start_watch();
	hidden_read(message_value("FATHOM_HIDDEN="));
	edges_patch_live(process_layers());
	meet_mpi();
	packages_loaded_before();
	process_started();
	return DONE;
}

static void say_run(const char *run)
{
	strncpy(room, run, sizeof(room) - 1);
}

/* Says of a process that is recorded already, or was until now, in which run. */
static long act(long what)
{
	const char *now = process_run();

	if (what == ROOM)
		return (long)room;
	if (what == JUMPS)
		return (long)hidden_jumps();
	if (what == ATTACH && !now)
		return attach();
	say_run(now ? now : "");
	if (what == ATTACH)
		return RECORDED_ALREADY;
	if (!now)
		return NOT_RECORDED;
	edges_unpatch();
	process_detach();
	outdated = true;
	return DONE;
}

/* The answer goes to memory: the register it would come back in is lost on the way (engine/attach/src/call.rs). */
__attribute__((used, visibility("hidden"))) void attached_entry(long what, long *answer)
{
	*answer = act(what);
}
