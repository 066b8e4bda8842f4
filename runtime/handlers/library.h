/* The library that a wrapper's original lives in: handlers ask it, and no other copy of it. */
#ifndef FATHOM_LIBRARY_H
#define FATHOM_LIBRARY_H

#include <errno.h>
#include <stdint.h>

/* For dlsym; stays loaded from now on. NULL: not known. */
void *library_of(uint32_t wrapper);
/* A function of the library, or else of whatever the program has in common. Clears dlerror(). */
void *library_function(void *library, const char *name);
/* A variable: the program may have a copy of its own that the library uses too (copy relocation), so what
 * is common comes first. */
void *library_variable(void *library, const char *name);

/* For hooks that ask a library: puts the program's errno back at the end of the scope. */
static inline void errno_put_back(const int *kept)
{
	errno = *kept;
}
#define KEEP_ERRNO const int kept_errno __attribute__((cleanup(errno_put_back))) = errno

#endif
