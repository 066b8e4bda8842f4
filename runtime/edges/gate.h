/* One thread at a time, and none while the process forks. */
#ifndef FATHOM_GATE_H
#define FATHOM_GATE_H

#include <stdbool.h>

/* False: this thread is inside already (a signal handler), or memory is out. */
bool gate_enter(void);
void gate_leave(void);
/* False in a forked child until dlopen or dlclose has returned there: what was loaded later than
 * the start may be half gone, and is not read. */
bool modules_known(void);
/* dlopen or dlclose has returned: no lost thread of a forked parent holds the loader's lock. */
void modules_loader_lives(void);
/* Around fork (pthread_atfork). */
void modules_before_fork(void);
void modules_after_fork(void);

#endif
