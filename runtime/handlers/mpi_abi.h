/* One libfathom.so for every MPI: which one this process has, its constants, and the queries we make.
 * Handles are uintptr_t. MPICH's are 32-bit integers, whose upper half is noise in a register;
 * Open MPI's are pointers. Only local calls are here, never one that communicates. */
#ifndef FATHOM_MPI_ABI_H
#define FATHOM_MPI_ABI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum mpi_combiner {
	COMBINER_OTHER, /* a Fortran 90 parametrised type, or one we do not know */
	COMBINER_NAMED,
	COMBINER_DUP,
	COMBINER_CONTIGUOUS,
	COMBINER_VECTOR,
	COMBINER_HVECTOR,
	COMBINER_INDEXED,
	COMBINER_HINDEXED,
	COMBINER_INDEXED_BLOCK,
	COMBINER_HINDEXED_BLOCK,
	COMBINER_STRUCT,
	COMBINER_SUBARRAY,
	COMBINER_DARRAY,
	COMBINER_RESIZED,
	COMBINERS = 32, /* values that an MPI gives its combiners */
};

enum mpi_topology {
	TOPOLOGY_NONE,
	TOPOLOGY_GRAPH,
	TOPOLOGY_CARTESIAN,
	TOPOLOGY_DIST_GRAPH,
	TOPOLOGIES = 4, /* values that an MPI gives them */
};

enum {
	MPI_STATUS_BYTES =
		32, /* no MPI's status is larger: 20 in MPICH, 24 in Open MPI, 32 in MPI 5 */
};

/* What differs between MPIs and is no function. */
struct mpi_facts {
	const char *name;
	bool int_handles;
	uint32_t status_bytes;
	uintptr_t status_ignore;                          /* also that of arrays */
	int in_status;                                    /* MPI_ERR_IN_STATUS */
	int error_io;                                     /* MPI_ERR_IO */
	uint32_t status_source, status_tag, status_error; /* where they lie in a status */
	uintptr_t in_place;
	int any_source, proc_null;
	int order_fortran;
	int distribute_block, distribute_cyclic, default_argument;
	uint8_t combiner[COMBINERS];  /* its value -> enum mpi_combiner */
	uint8_t topology[TOPOLOGIES]; /* its value -> enum mpi_topology */
};

struct mpi_abi {
	const struct mpi_facts *facts;
	char version[32]; /* "4.0.2" */
	uintptr_t world, comm_null, info_null, request_null, byte, datatype_null;
	int (*initialized)(int *flag);
	int (*comm_size)(uintptr_t comm, int *size);
	int (*comm_rank)(uintptr_t comm, int *rank);
	int (*comm_name)(uintptr_t comm, char *name, int *length);
	int (*comm_inter)(uintptr_t comm, int *flag);
	int (*comm_remote_size)(uintptr_t comm, int *size);
	int (*topology)(uintptr_t comm, int *kind);
	int (*cart_dimensions)(uintptr_t comm, int *dimensions);
	int (*graph_neighbors)(uintptr_t comm, int rank, int *neighbors);
	int (*dist_graph_neighbors)(uintptr_t comm, int *in, int *out, int *weighted);
	int (*comm_group)(uintptr_t comm, void *group);
	int (*group_free)(void *group);
	int (*group_translate)(uintptr_t group, int n, const int *ranks, uintptr_t to, int *out);
	int (*info_keys)(uintptr_t info, int *keys);
	int (*info_key)(uintptr_t info, int n, char *key);
	int (*info_get)(uintptr_t info, const char *key, int length, char *value, int *flag);
	int (*info_free)(void *info);
	int (*info_create)(void *info);
	int (*info_dup)(uintptr_t info, void *copy);
	int (*info_set)(uintptr_t info, const char *key, const char *value);
	int (*file_info)(uintptr_t file, void *info);
	int (*elements)(const void *status, uintptr_t datatype, int64_t *count);
	int (*type_size)(uintptr_t datatype, int64_t *size);
	int (*type_extent)(uintptr_t datatype, int64_t *lb, int64_t *extent);
	int (*type_true_extent)(uintptr_t datatype, int64_t *lb, int64_t *extent);
	int (*type_free)(void *datatype);
	int (*envelope)(uintptr_t datatype, int *integers, int *addresses, int *datatypes,
			int *combiner);
	int (*contents)(uintptr_t datatype, int integers, int addresses, int datatypes,
			int *integer, intptr_t *address, void *datatype_of);
	/* MPI 4; NULL before */
	int (*envelope_c)(uintptr_t datatype, int64_t *integers, int64_t *addresses,
			  int64_t *counts, int64_t *datatypes, int *combiner);
	int (*contents_c)(uintptr_t datatype, int64_t integers, int64_t addresses, int64_t counts,
			  int64_t datatypes, int *integer, intptr_t *address, int64_t *count,
			  void *datatype_of);
};

/* The process's MPI, found at the first call through `wrapper`; NULL while it is not known, or is one
 * that we do not know. */
const struct mpi_abi *mpi_abi(uint32_t wrapper);
const struct mpi_abi *mpi_abi_known(void); /* without looking for it */

/* A handle as a key: without the noise above an integer. */
static inline uintptr_t mpi_handle(const struct mpi_abi *abi, uintptr_t handle)
{
	return abi->facts->int_handles ? (uint32_t)handle : handle;
}

/* Handle number n of an array in the program's memory. */
static inline uintptr_t mpi_handle_at(const struct mpi_abi *abi, const void *handles, size_t n)
{
	return abi->facts->int_handles ? ((const uint32_t *)handles)[n]
				       : ((const uintptr_t *)handles)[n];
}

#endif
