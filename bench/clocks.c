/* libclocks.so: a pwrite and a pread that read the processor's counter before and after the original, and do
 * nothing else. Preloaded in place of a tracer it shows what any tracer that times calls must add: the rest of
 * what Fathom adds is Fathom's own. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <sys/types.h>
#include <unistd.h>

static ssize_t (*next_pwrite)(int, const void *, size_t, off_t);
static ssize_t (*next_pread)(int, void *, size_t, off_t);
static __thread volatile uint64_t began, ended; /* volatile: read by nobody, and yet kept */

static uint64_t ticks(void)
{
#if defined(__x86_64__)
	return __builtin_ia32_rdtsc();
#else
	uint64_t value;
	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(value));
	return value;
#endif
}

__attribute__((constructor)) static void find_originals(void)
{
	*(void **)&next_pwrite = dlsym(RTLD_NEXT, "pwrite");
	*(void **)&next_pread = dlsym(RTLD_NEXT, "pread");
}

ssize_t pwrite(int fd, const void *data, size_t count, off_t offset)
{
	ssize_t done;

	began = ticks();
	done = next_pwrite(fd, data, count, offset);
	ended = ticks();
	return done;
}

ssize_t pread(int fd, void *data, size_t count, off_t offset)
{
	ssize_t done;

	began = ticks();
	done = next_pread(fd, data, count, offset);
	ended = ticks();
	return done;
}
