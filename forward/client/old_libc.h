/* What C libraries before glibc 2.27 lack, so that the client enters programs of glibc 2.17 too. */
#ifndef FWD_OLD_LIBC_H
#define FWD_OLD_LIBC_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static inline bool random_bytes(void *to, size_t size)
{
	return syscall(SYS_getrandom, to, size, 0) == (long)size;
}

/* The compiler may not leave it out though nobody reads the bytes again. */
static inline void wipe(void *secret, size_t size)
{
	memset(secret, 0, size);
	__asm__ volatile("" : : "r"(secret) : "memory");
}

static inline int memory_file(const char *name, unsigned flags)
{
	return (int)syscall(SYS_memfd_create, name, flags);
}

#endif
