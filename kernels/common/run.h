/* The parallel programs: what a form is given, and what it must do. */
#ifndef RUN_H
#define RUN_H

#include <mpi.h>

#include "kernel.h"

struct job {
	const struct options *options;
	MPI_Comm communicator; /* of the file at hand: the world, or the rank alone */
	MPI_Info info;
	bool independent; /* for the file at hand */
	int rank;
};

/* How files meet the disk. Both return after the file is closed, and end the job with a line on error.
 * A collective call is made by all ranks: each has as many pieces of each array then. */
struct form {
	const char *suffix;
	bool nonblocking; /* it can */
	/* NULL: it reads what others wrote */
	void (*write)(const struct job *job, const char *path, const struct layout *l,
		      const struct pieces *p);
	void (*read)(const struct job *job, const char *path, const struct layout *l,
		     const struct pieces *p);
};
extern const struct form FORM; /* the program's: a name that the build gives */
extern const struct form form_posix;

void mpi_check(int error, const char *call, const char *object);
/* MPI_DOUBLE and its like. */
MPI_Datatype mpi_element(enum element type);
/* The piece's place in its buffer as one committed type; the caller frees it. */
MPI_Datatype mpi_memory(const struct layout *l, const struct piece *p);
/* An int's worth of elements, or the end. */
int int_count(uint64_t n, const char *object);

/* The program's own account (-a): one line for each access, before it is made. */
void account_begin(const char *directory, int rank);
/* A box of a named array, by a library that knows names; the name gets `prefix`. */
void account_box(const char *layer, bool reading, const char *path, const char *prefix,
		 const struct layout *l, const struct piece *p);
/* Bytes of a file: `span` from the first to the last, `bytes` of them moved. */
void account_bytes(const char *layer, bool reading, const char *path, uint64_t first, uint64_t span,
		   uint64_t bytes);
void account_end(void);

#endif
