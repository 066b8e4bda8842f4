/* What the rows of catalog/probes/pnetcdf.toml use, and what the PnetCDF handlers share. */
#ifndef FATHOM_PNETCDF_H
#define FATHOM_PNETCDF_H

#include <stdint.h>

#include "core/call.h"
#include "handlers/netcdf_model.h"

/* ---- files (pnetcdf_file.c) ---- */
void pnetcdf_created(struct call *c, uintptr_t comm, const char *path, int mode, uintptr_t info,
		     const int *id);
void pnetcdf_opened(struct call *c, uintptr_t comm, const char *path, int mode, uintptr_t info,
		    const int *id);
void pnetcdf_closing(struct call *c, int id);
void pnetcdf_closed(struct call *c, int result, int id);
void pnetcdf_defined(struct call *c, int id);

/* ---- data (pnetcdf_data.c): `type` is the memory's nc_type, 0: it is `count` times the MPI datatype ---- */
void pnetcdf_data(struct call *c, int id, int variable, const void *start, const void *count,
		  const void *stride, int64_t type, int64_t buffer_count, uintptr_t datatype);
void pnetcdf_list(struct call *c, int id, int variable, int n, int64_t *const *starts,
		  int64_t *const *counts, int64_t type, int64_t buffer_count, uintptr_t datatype);
void pnetcdf_typed_file(struct call *c, int id, int variable, uintptr_t filetype,
			int64_t buffer_count, uintptr_t datatype);
void pnetcdf_several(struct call *c, int id, int n, const int *variables, int64_t *const *starts,
		     int64_t *const *counts, bool single, int64_t type,
		     const int64_t *buffer_counts, const void *datatypes);
void pnetcdf_posted(struct call *c, int id, int variable, const void *start, const void *count,
		    const void *stride, int64_t type, int64_t buffer_count, uintptr_t datatype,
		    const int *request);
void pnetcdf_list_posted(struct call *c, int id, int variable, int n, int64_t *const *starts,
			 int64_t *const *counts, int64_t type, int64_t buffer_count,
			 uintptr_t datatype, const int *request);
static inline int64_t pnetcdf_request(const int *request)
{
	return request ? *request : -1;
}

/* ---- completions (pnetcdf_wait.c) ---- */
/* The request of a post; where the program did not ask for its id, one that only waits for all complete. */
const int *pnetcdf_request_of(const int *request, int reads);

void pnetcdf_pend(struct call *c, const struct nc_library *lib, int id, int request, int64_t bytes);
void pnetcdf_waiting(struct call *c, int id, int n, const int *requests);
void pnetcdf_waited(struct call *c, int result, int id, int n, const int *requests,
		    const int *statuses);
void pnetcdf_cancelled(struct call *c, int result, int id, int n, const int *requests);
void pnetcdf_drop(const struct nc_library *lib, int id); /* the file is closed */

#endif
