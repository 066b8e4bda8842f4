/* Settings that come while a run is on its way. Shared by this folder. */
#ifndef FATHOM_LIVE_H
#define FATHOM_LIVE_H

#include "handlers/mpi_abi.h"
#include "tune/settings.h"

/* A file that is opened in a run whose settings may change while it is on its way. */
struct tuned_file {
	uintptr_t
		comm; /* a communicator of ours, of all that have it; 0: one process has it alone */
	char path[];
};

/* What all ranks of this communicator now take for a file that they open together; NULL: nothing. One rank says it to the
 * others, so they must all call. What is kept of the file until it is closed: NULL, it keeps the hints that it is opened
 * with. */
const struct table *live_open(const struct mpi_abi *abi, uint32_t wrapper, uintptr_t comm,
			      const char *path, struct tuned_file **file);
/* The same of a file that they have open. */
const struct table *live_again(const struct mpi_abi *abi, uint32_t wrapper,
			       const struct tuned_file *file);
void live_free(const struct mpi_abi *abi, struct tuned_file *file);

#endif
