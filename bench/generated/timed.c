/* A kernel's way to write files, timed without what fills its arrays. WAY is a form of kernels/common, or form_generated;
 * with AGAINST, another one, the two take turns (ABBA) in one process: same memory, same processors, same second. */
#include <stdio.h>

#include "../../kernels/common/run.h"

extern const struct form WAY;
#ifdef AGAINST
extern const struct form AGAINST;
static const struct form *const ways[] = {&WAY, &AGAINST, &AGAINST, &WAY};
static const char *const names[] = {"way", "against", "against", "way"};
#else
static const struct form *const ways[] = {&WAY};
static const char *const names[] = {"way"};
#endif
enum { WAYS = sizeof(ways) / sizeof(ways[0]) };

/* Named so that callgrind counts what is below it. */
static __attribute__((noinline, noclone)) void written(const struct form *way,
						       const struct job *job, const char *path,
						       const struct layout *l,
						       const struct pieces *p)
{
	way->write(job, path, l, p);
}

static void write_timed(const struct job *job, const char *path, const struct layout *l,
			const struct pieces *p)
{
	static unsigned turn;

	MPI_Barrier(job->communicator);
	double began = MPI_Wtime();
	written(ways[turn % WAYS], job, path, l, p);
	MPI_Barrier(job->communicator);
	if (job->rank == 0)
		printf("%s_seconds=%.6f\n", names[turn % WAYS], MPI_Wtime() - began);
	turn++;
}

const struct form form_timed = {"nc", true, write_timed, NULL};
