/* What the rows of catalog/probes/netcdf.toml use. */
#ifndef FATHOM_NETCDF_H
#define FATHOM_NETCDF_H

#include <stdint.h>

#include "core/call.h"
#include "handlers/netcdf_model.h"

/* ---- files (netcdf_file.c) ---- */
void netcdf_opened(struct call *c, const char *path, int mode, const int *id);
void netcdf_opened_together(struct call *c, const char *path, int mode, uintptr_t comm,
			    uintptr_t info, const int *id);
void netcdf_closing(struct call *c, int id);
void netcdf_closed(struct call *c, int result);
void netcdf_group_defined(struct call *c, const int *id);
void netcdf_filtered(struct call *c, int id, int variable);
void netcdf_access_set(struct call *c, int id, int variable, int access);

/* ---- data (netcdf_data.c): `type` is the memory's nc_type, 0: the variable's own ---- */
void netcdf_data(struct call *c, int id, int variable, const void *start, const void *count,
		 const void *stride, int64_t type);

#endif
