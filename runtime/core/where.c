/* The module that an address lies in, asked of the loader. A static program has its own answer (runtime/linked). */
#include <stddef.h>
#include <link.h>
#include <dlfcn.h>

#include "core/python.h"
#include "core/sites.h"
#include "core/process.h"

/* glibc 2.35's lock-free look-up where there is one; dladdr1 takes the loader's lock. */
struct find_result {
	unsigned long long flags;
	void *begin, *end;
	struct link_map *map;
	void *eh_frame;
	unsigned long long reserved[7];
};
static int (*find_object)(void *, struct find_result *);

static void *symbol(const char *name)
{
	return dlsym(RTLD_DEFAULT, name);
}

void where_begin(void)
{
	python_begin(symbol);
	*(void **)&find_object = symbol("_dl_find_object");
}

const struct link_map *process_module(const void *address, void **begin)
{
	struct find_result object;
	struct link_map *map = NULL;
	Dl_info info;

	if (find_object) {
		if (find_object((void *)address, &object) != 0)
			return NULL;
		*begin = object.begin;
		return object.map;
	}
	if (!dladdr1(address, &info, (void **)&map, RTLD_DL_LINKMAP))
		return NULL;
	*begin = info.dli_fbase;
	return map;
}
