/* The door for whoever loads us into a program that runs: the entry point of our ELF header, for we export nothing. */
#include <stddef.h>
#include <string.h>

#include "core/process.h"
#include "edges/edges.h"
#include "edges/modules.h"
#include "edges/start.h"
#include "handlers/forget.h"
#include "user/user.h"

enum { ATTACH, DETACH };
enum { DONE, RECORDED_ALREADY, LEFT_OUT, NOT_RECORDED }; /* python/fathom/attach/injector.py */

static int attach(const char *settings)
{
	handlers_forget();
	user_forget();
	if (!process_attach(settings))
		return LEFT_OUT;
	modules_begin_late();
	start_watch();
	edges_patch_live(process_layers());
	process_started();
	return DONE;
}

/* `run`: where to put the name of the run that it is recorded in already, or was until now. */
__attribute__((used, visibility("hidden"))) int attached_entry(int what, const char *settings,
							       char *run, size_t size)
{
	const char *now = process_run();

	if (now && size) {
		strncpy(run, now, size - 1);
		run[size - 1] = '\0';
	}
	if (what == ATTACH)
		return now ? RECORDED_ALREADY : attach(settings);
	if (!now)
		return NOT_RECORDED;
	edges_unpatch();
	process_detach();
	return DONE;
}
