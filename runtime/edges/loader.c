/* The loader's own functions: later modules get their edges, dlsym answers as slots do. */
#include <dlfcn.h>
#include <link.h>

#include "core/call.h"
#include "core/process.h"
#include "edges/edges.h"
#include "edges/hooks.h"
#include "edges/search.h"
#include "user/user.h"

struct originals originals;

void hook_dlsym(void), hook_dlvsym(void); /* hooks.S: they keep the caller's return address */

/* Patches what came in; the time that takes is a row of layer fathom. */
static void opened(void *handle, int flags)
{
	uint64_t began = ticks_now();

	edges_opened(handle, flags);
	process_patched(began);
	package_loaded(((const struct link_map *)handle)->l_name);
}

static void *hook_dlopen(const char *file, int flags)
{
	void *handle = search_dlopen(file, flags, __builtin_return_address(0));

	if (handle)
		opened(handle, flags);
	return handle;
}

/* A new namespace has a libc of its own and is left alone; LM_ID_BASE is ours. */
static void *hook_dlmopen(Lmid_t space, const char *file, int flags)
{
	void *handle;

	if (space == LM_ID_BASE)
		handle = search_dlopen(file, flags, __builtin_return_address(0));
	else
		handle = ((void *(*)(Lmid_t, const char *, int))originals.dlmopen)(space, file,
										   flags);
	if (handle && space == LM_ID_BASE)
		opened(handle, flags);
	return handle;
}

static int hook_dlclose(void *handle)
{
	int result = ((int (*)(void *))originals.dlclose)(handle);

	if (!result)
		edges_closed();
	return result;
}

/* Ours, unless somebody has a function of that name. */
static void *own_symbol(void *handle, const char *name)
{
	void *own = process_layers() >> LAYER_USER & 1 ? user_symbol(name) : NULL;

	if (!own || (handle != RTLD_NEXT &&
		     ((void *(*)(void *, const char *))originals.dlsym)(handle, name)))
		return NULL;
	dlerror(); /* a lookup that succeeds leaves no error behind */
	return own;
}

/* NULL: the hook jumps on to the loader's function, with the caller's arguments and return
 * address. */
void *loader_dlsym(void *handle, const char *name, const void *caller)
{
	struct edges_question q = {.handle = handle, .name = name, .caller = caller};
	void *answer;

	if (!name)
		return NULL;
	if (!edges_knows(name))
		return own_symbol(handle, name);
	if (handle != RTLD_NEXT)
		q.original = ((void *(*)(void *, const char *))originals.dlsym)(handle, name);
	answer = edges_answer(&q);
	if (answer)
		dlerror(); /* a lookup that succeeds leaves no error behind */
	return answer;
}

void *loader_dlvsym(void *handle, const char *name, const char *version, const void *caller)
{
	struct edges_question q = {
		.handle = handle, .name = name, .version = version, .caller = caller};
	void *answer;

	if (!name || !version || !edges_knows(name))
		return NULL;
	if (handle != RTLD_NEXT)
		q.original = ((void *(*)(void *, const char *, const char *))originals.dlvsym)(
			handle, name, version);
	answer = edges_answer(&q);
	if (answer)
		dlerror();
	return answer;
}

const struct hook loader_hooks[] = {
	{"dlopen", 1, {hook_dlopen}, {&originals.dlopen}},
	{"dlmopen", 1, {hook_dlmopen}, {&originals.dlmopen}},
	{"dlclose", 1, {hook_dlclose}, {&originals.dlclose}},
	{"dlsym", 1, {hook_dlsym}, {&originals.dlsym}},
	{"dlvsym", 1, {hook_dlvsym}, {&originals.dlvsym}},
};
const uint32_t loader_hooks_count = sizeof(loader_hooks) / sizeof(loader_hooks[0]);
