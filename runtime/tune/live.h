/* Settings that come while a run is on its way. Shared by this folder. */
#ifndef FATHOM_LIVE_H
#define FATHOM_LIVE_H

#include "handlers/mpi_abi.h"
#include "tune/settings.h"

/* What all ranks of this communicator now take for a file that they open together; NULL: nothing. One rank says it to the
 * others, so they must all call. */
const struct table *live_settings(const struct mpi_abi *abi, uint32_t wrapper, uintptr_t comm);

#endif
