/* How far a long test is: one line on stderr for each twentieth of it; a short one says nothing. */
#ifndef FATHOM_TEST_PROGRESS_H
#define FATHOM_TEST_PROGRESS_H

#include <stdio.h>
#include <time.h>

enum { LONG_TEST = 100000 /* steps */ };

static inline void progress(long step, long steps)
{
	static time_t began;

	if (!step)
		began = time(NULL);
	else if (steps >= LONG_TEST && step % (steps / 20) == 0)
		fprintf(stderr, "%ld of %ld steps, %ld s\n", step, steps,
			(long)(time(NULL) - began));
}

#endif
