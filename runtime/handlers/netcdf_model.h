/* What the handlers of netCDF-C and of PnetCDF share. Both keep variables over named dimensions in files, and name
 * everything by small integers that mean something only to the copy of the library that gave them. */
#ifndef FATHOM_NETCDF_MODEL_H
#define FATHOM_NETCDF_MODEL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/call.h"
#include "handlers/library.h"
#include "handlers/selection.h"

enum nc_api { NETCDF, PNETCDF };

enum {
	NC_ERANGE =
		-60,  /* in both libraries: a value did not fit its type, and all was transferred */
	NC_FILE = -2, /* in place of a variable's id: the file or the group itself */
	NC_GROUPS_OF = ~0xffff, /* netCDF-C: what is left of a group's id is its file's */
	NC_FORMAT_PNETCDF = 4,  /* NC_FORMATX_PNETCDF: netCDF-C passes the file on to PnetCDF */
};

/* One copy of one of the libraries. Only its local queries; NULL where it has none. */
struct nc_library {
	struct library_copy copy; /* first */
	enum nc_api api;
	uint64_t
		owner; /* the module that answers: also when a tool stands before some of its functions */
	int (*variable)(int id, int variable, char *name, int *type, int *rank, int *dimensions,
			int *attributes);
	int (*dimension)(int id, int dimension, uint64_t *length);
	int (*unlimited)(int id, int *dimension);
	int (*format)(int id, int *format);
	const char *(*version)(void); /* "4.9.0 of …" */
	/* netCDF-C */
	int (*path)(int id, size_t *length, char *path);
	int (*all_unlimited)(int id, int *n, int *dimensions);
	int (*group_name)(int id, size_t *length, char *name);
	int (*group_parent)(int id, int *parent);
	int (*type)(int id, int type, char *name, size_t *size);
	int (*format_extended)(int id, int *format, int *mode);
	int (*chunking)(int id, int variable, int *storage, size_t *sizes);
	int (*deflate)(int id, int variable, int *shuffle, int *deflate, int *level);
	int (*filters)(int id, int variable, size_t *n, unsigned *filters);
	int (*fill)(int id, int variable, int *no_fill, void *value);
	/* PnetCDF */
	int (*path_int)(int id, int *length, char *path);
	int (*info)(int id, uintptr_t *info);
	int (*pending)(int id, int *n);
};
struct nc_library *nc_library(uint32_t wrapper, enum nc_api api); /* NULL: not known */

/* An open file. Written by the calls that open and close it. */
struct nc_file {
	_Atomic uint32_t used;
	uint32_t object;
	uint32_t first;      /* of its variables and groups: place + 1 in the table */
	bool parallel;       /* opened by a communicator */
	bool over_pnetcdf;   /* netCDF-C passes it on to PnetCDF: */
	bool collective;     /* then all of it is accessed collectively, or not */
	bool hints_recorded; /* its hints in force */
};

/* A variable of an open file, as known since its first use; or a group, whose `variable` is NC_FILE. */
struct nc_variable {
	_Atomic uint32_t used;
	uint32_t object;
	struct nc_file *file;
	uint32_t next; /* of the same file: place + 1 */
	int id, variable;
	bool collective; /* netCDF-C over HDF5: nc_var_par_access said so, or the filter it was given makes it */
	bool storage_recorded; /* its storage is told */
	uint32_t rank;
	uint64_t element;            /* bytes in the file */
	uint64_t extent[SHAPE_RANK]; /* 0: unlimited */
};

/* The object that a call on a variable (or, below 0, on the file or group) is about; the file's when the
 * variable was not met yet. */
uint32_t nc_object(uint32_t wrapper, enum nc_api api, int id, int variable);
/* A file was opened: its object becomes the call's. NULL: it is left out, or one too many. */
struct nc_file *nc_opened(struct call *c, const struct nc_library *lib, int id, const char *path,
			  int mode, const struct group_def *group);
struct nc_file *nc_file(const struct nc_library *lib, int id); /* NULL: not known */
/* The hooks of a close: the id may be another's right after it. */
void nc_closing(struct call *c, const struct nc_library *lib, int id);
void nc_closed(struct call *c, const struct nc_library *lib, int result);
/* After a call that succeeded: the variable, or the group, is asked for and defined at its first use. */
struct nc_variable *nc_variable(struct call *c, const struct nc_library *lib, int id, int variable);
/* The length of a dimension now: of an unlimited one the library is asked. */
uint64_t nc_length(const struct nc_library *lib, const struct nc_variable *v, uint32_t dimension);

/* Hooks that rows of both libraries use (netcdf_define.c). */
void nc_named(struct call *c, const char *what, const char *name);
void nc_variable_defined(struct call *c, enum nc_api api, int id, const int *variable);
void nc_renamed(struct call *c, enum nc_api api, int id, int variable);
void nc_fill_set(struct call *c, enum nc_api api, int id, int variable, bool fill);
void nc_tell_format(struct call *c, const struct nc_library *lib, int id);

/* What is selected, as rows record it: a shape, and where its box begins. */
struct nc_selected {
	uint32_t number; /* of the shape; 0: everything */
	int64_t start;   /* row-major element index of the box's first corner; -1: not known */
	int64_t total;   /* elements */
};
/* Starts, counts and strides are 8-byte integers; NULL is what the libraries take it for: zeros, as far as it goes,
 * ones. Without start and count everything is meant. */
struct nc_selected nc_select(struct call *c, const struct nc_library *lib,
			     const struct nc_variable *v, const void *start, const void *count,
			     const void *stride);
/* After the call's data hook, of a call with an index map (in elements; NULL: as the file's order): has its memory holes? */
void nc_mapped(struct call *c, enum nc_api api, int id, int variable, const void *count,
	       const void *map);
/* n boxes; where `counts` or one of it is NULL, single elements. */
struct nc_selected nc_select_list(struct call *c, const struct nc_variable *v, int n,
				  int64_t *const *starts, int64_t *const *counts);
const uint64_t *nc_ones(void);   /* counts of a single element */
int64_t nc_type_bytes(int type); /* of nc_type, as in memory; 0: not one of the library's own */
int64_t nc_times(int64_t a, int64_t b); /* -1: either is not known, or it is too much */

#endif
