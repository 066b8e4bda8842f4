/* Points libfathom's own imports to libc, whoever interposes. First of all, see self.c. */
#ifndef FATHOM_SELF_H
#define FATHOM_SELF_H

void self_bind(void);

#endif
