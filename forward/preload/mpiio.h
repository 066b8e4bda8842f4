/* MPI-IO of the preload skin: the MPI library keeps its files, blocking reads and writes become list requests. */
#ifndef FATHOM_SKIN_MPIIO_H
#define FATHOM_SKIN_MPIIO_H

#include "fathom_fwd.h"
#include "handlers/mpiio_tree.h"
#include "mpiio_calls.h"

struct mpi_status;

/* ---- mpiio_calls.c, generated: what stands before which function, and where that one is put ---- */

struct mpiio_symbol {
	const char *name;
	void *before;
	void **behind;
};
extern const struct mpiio_symbol mpiio_symbols[];
extern const unsigned int mpiio_symbols_count;

/* ---- mpiio_library.c: the process's MPI ---- */

struct mpiio_library {
	const struct mpi_abi *abi;
	int (*bcast)(void *buffer, int count, uintptr_t datatype, int root, uintptr_t comm);
	int (*position)(uintptr_t fh, int64_t *offset);
	int (*seek)(uintptr_t fh, int64_t offset, int whence);
	int (*atomicity)(uintptr_t fh, int *flag);
	int (*call_errhandler)(uintptr_t fh, int code);
	int (*set_elements)(struct mpi_status *status, uintptr_t datatype, int64_t count);
	/* A count is an int where the MPI has no large ones: that reads the lower half of what is given. */
	int (*read_at)(uintptr_t fh, int64_t offset, void *buf, int64_t count, uintptr_t datatype,
		       struct mpi_status *status);
	int (*write_at)(uintptr_t fh, int64_t offset, const void *buf, int64_t count,
			uintptr_t datatype, struct mpi_status *status);
	int (*read)(uintptr_t fh, void *buf, int64_t count, uintptr_t datatype,
		    struct mpi_status *status);
	int (*write)(uintptr_t fh, const void *buf, int64_t count, uintptr_t datatype,
		     struct mpi_status *status);
};
/* NULL: none that we know. */
const struct mpiio_library *mpiio_library(void);

/* ---- mpiio_pieces.c: bytes of a datatype that repeats, one extent apart ---- */

struct pieces {
	struct fathom_fwd_extent *piece; /* of memory: addresses */
	uint32_t n, room;
	uint64_t bytes;
};
/* The pieces of bytes from..from+most, in the order of the type map; fewer bytes where there is no more room. */
void pieces_take(struct pieces *to, const struct node *node, int64_t base, uint64_t from,
		 uint64_t most);
/* Cuts them to `bytes`, which they have. */
void pieces_cut(struct pieces *pieces, uint64_t bytes);

/* ---- mpiio.c ---- */

enum { MPIIO_HAND_ON = -1, MPIIO_WRITE = 1, MPIIO_ALL = 2, MPIIO_POINTER = 4 };

/* A read or write: MPI's result, or MPIIO_HAND_ON: the library is to do it. `how`: MPIIO_WRITE, of ALL ranks, at the
 * POINTER instead of `offset`. */
int mpiio_data(uintptr_t fh, int64_t offset, void *buf, int64_t count, uintptr_t datatype,
	       struct mpi_status *status, unsigned int how);

#endif
