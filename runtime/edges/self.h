/* Points libfathom's own imports to libc, whoever interposes. First of all, see self.c. */
#ifndef FATHOM_SELF_H
#define FATHOM_SELF_H

#include <stdbool.h>

/* True: libc was there before us, so we came into a program that runs. */
bool self_bind(void);

#endif
