/* Functions behind us: libc's, or those of another tool between. */
#include "skin.h"

#include <dlfcn.h>

static void *_Atomic next_found[NEXT_COUNT];

static long absent(void)
{
	errno = ENOSYS;
	return -1;
}

/* Old binaries' names (__xstat) have no default version. */
static void *find(const char *name)
{
	void *address = dlsym(RTLD_NEXT, name);

	if (!address)
		address = dlvsym(RTLD_NEXT, name, "GLIBC_2.2.5");
	if (!address)
		address = dlvsym(RTLD_NEXT, name, "GLIBC_2.17"); /* where the others begin */
	return address ? address : (void *)absent;
}

void *next_at(int symbol)
{
	void *address = atomic_load_explicit(&next_found[symbol], memory_order_relaxed);

	if (address)
		return address;
	int before = errno;

	address = find(next_names[symbol]);
	atomic_store_explicit(&next_found[symbol], address, memory_order_relaxed);
	errno = before;
	return address;
}

int skin_refuse(const char *op, bool loud)
{
	if (loud)
		complain(31, "%s of a forwarded file is not done: ENOTSUP", op);
	errno = ENOTSUP;
	return -1;
}

/* All at once: a thread may be killed or forked while it holds the loader's lock later. */
__attribute__((constructor)) static void begin(void)
{
	for (int i = 0; i < NEXT_COUNT; i++)
		next_at(i);
	if (!settings())
		return;
	own_begin();
	files_inherited();
}
