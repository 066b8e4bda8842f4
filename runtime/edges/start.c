/* Where Fathom enters and leaves a process. libfathom.so is linked with -z initfirst: this
 * constructor runs before every other library's, libc's own included, so their I/O is seen. */
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/process.h"
#include "edges/edges.h"
#include "edges/gate.h"
#include "edges/search.h"
#include "edges/self.h"
#include "edges/start.h"
#include "tune/tune.h"

__thread struct entry_site entry_site;

/* Registered before all else and for no library, so exit() runs it after all destructors. */
extern int __cxa_atexit(void (*function)(void *), void *argument, void *library);

static void end(void *argument)
{
	(void)argument;
	process_end();
}

static void end_quickly(void)
{
	process_end();
}

/* True: loaded into a program that runs, and not at its start. */
static bool is_late;

void start_watch(void)
{
	static bool watched;

	if (watched)
		return;
	watched = true;
	if (!is_late)
		__cxa_atexit(end, NULL, NULL);
	at_quick_exit(end_quickly);
	/* The first handlers registered: the last before the fork, the first after it. */
	pthread_atfork(modules_before_fork, modules_after_fork, modules_after_fork);
}

__attribute__((constructor)) static void start(int count, char **arguments, char **environment)
{
	(void)count, (void)arguments;
	is_late = self_bind();
	if (!environ)
		environ = environment; /* libc's constructor, still to run, sets the same */
	search_begin(environment);
	if (is_late || !process_begin())
		return;
	start_watch();
	tune_begin(process_tuned());
	edges_patch(process_layers());
	process_started();
}

/* An exit handler of ours would run before the program's own, which came first. */
__attribute__((destructor)) static void end_late(void)
{
	if (is_late)
		process_end();
}
