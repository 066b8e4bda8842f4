/* What the handlers of libraries share: the library that a wrapper's original lives in, which they ask, and
 * no other copy of it. */
#ifndef FATHOM_LIBRARY_H
#define FATHOM_LIBRARY_H

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/call.h"

/* For dlsym; stays loaded from now on. NULL: not known. */
void *library_of(uint32_t wrapper);
/* A function of the library, or else of whatever the program has in common. Clears dlerror(). */
void *library_function(void *library, const char *name);
/* The module that a function lies in, as edge_library() names it; `otherwise` when that is not known. */
uint64_t library_owner(const void *function, uint64_t otherwise);
/* A variable: the program may have a copy of its own that the library uses too (copy relocation), so what
 * is common comes first. */
void *library_variable(void *library, const char *name);

/* One copy of a library in this process: what a handler knows of it begins with this. */
struct library_copy {
	_Atomic uint64_t key; /* edge_library() */
	_Atomic int state;
};
enum { LIBRARY_COPIES = 16 };
/* The entry of the copy that a wrapper's original lives in, of LIBRARY_COPIES of `size` bytes. Whoever sees a copy
 * first has `fill` fill its entry, which says whether it could; `api` tells the libraries that share the entries
 * apart. NULL: it could not, or another thread is about to. */
void *library_copy(void *entries, size_t size, uint32_t wrapper,
		   bool (*fill)(void *entry, uint32_t wrapper, int api), int api);

/* For hooks that ask a library: puts the program's errno back at the end of the scope. */
static inline void errno_put_back(const int *saved)
{
	errno = *saved;
}
#define KEEP_ERRNO const int kept_errno __attribute__((cleanup(errno_put_back))) = errno

/* An open that failed is a call on the path. */
static inline void opened_nothing(struct call *c, const char *name)
{
	c->object = path_object(AT_FDCWD, name);
}

#endif
