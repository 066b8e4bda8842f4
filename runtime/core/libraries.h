/* Libraries that a process uses. */
#ifndef FATHOM_LIBRARIES_H
#define FATHOM_LIBRARIES_H

struct thread;

void libraries_tell(struct thread *t); /* in a fork's child: those of its parent */
void libraries_forget(void);           /* a recording ended */

#endif
