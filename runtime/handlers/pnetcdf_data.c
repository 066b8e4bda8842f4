/* PnetCDF's reads, writes and posts: what they select in the file, and how many bytes that is in memory. All is asked
 * after the call, when the library has looked at the same arguments. */
#include "handlers/library.h"
#include "handlers/mpi_abi.h"
#include "handlers/mpiio.h"
#include "handlers/pnetcdf.h"

/* Fields of the rows, in order. */
enum { SIZE, BYTES, SELECTION, START };
enum { IGNORED_COUNT = -1 }; /* NC_COUNT_IGNORE: the datatype is a plain one, of each element */

/* Did the call look at its arguments, and move what they say? */
static bool moved(const struct call *c)
{
	return c->error == 0 || c->error == NC_ERANGE;
}

/* The variable, which becomes the call's object; NULL: nothing may be asked. */
static const struct nc_variable *variable_of(struct call *c, const struct nc_library *lib, int id,
					     int variable)
{
	const struct nc_variable *v =
		lib && moved(c) && c->thread ? nc_variable(c, lib, id, variable) : NULL;

	if (v)
		c->object = v->object;
	return v;
}

static int64_t memory_bytes(const struct nc_variable *v, int64_t elements, int64_t type,
			    int64_t buffer_count, uintptr_t datatype)
{
	const struct mpi_abi *abi = mpi_abi_known();

	if (type)
		return nc_times(elements, nc_type_bytes((int)type));
	if (!abi)
		return -1;
	if (mpi_handle(abi, datatype) == abi->datatype_null)
		return nc_times(elements, (int64_t)v->element);
	return mpi_learn_bytes(buffer_count == IGNORED_COUNT ? elements : buffer_count, datatype);
}

/* What does not move stays -1; a call that only posts has its result where others have what moved. */
static void fill(struct call *c, bool posted, int64_t bytes, struct nc_selected selected)
{
	c->field[SIZE] = bytes;
	if (!posted)
		c->field[BYTES] = bytes;
	c->field[SELECTION] = selected.number;
	c->field[START] = selected.start;
}

/* Once the fields say how much moves and where: of what datatype memory is. */
static void tell_memory(struct call *c, int64_t elements, int64_t type, int64_t buffer_count,
			uintptr_t datatype)
{
	if (!type)
		mpi_tell_memory(c, buffer_count == IGNORED_COUNT ? elements : buffer_count,
				datatype);
}

static int64_t access(struct call *c, bool posted, int id, int variable, const void *start,
		      const void *count, const void *stride, int64_t type, int64_t buffer_count,
		      uintptr_t datatype)
{
	const struct nc_library *lib = nc_library(c->wrapper, PNETCDF);
	const struct nc_variable *v = variable_of(c, lib, id, variable);
	struct nc_selected selected = {0, -1, -1};
	int64_t bytes = -1;

	if (v) {
		selected = nc_select(c, lib, v, start, count, stride);
		bytes = memory_bytes(v, selected.total, type, buffer_count, datatype);
	}
	fill(c, posted, bytes, selected);
	if (bytes >= 0)
		tell_memory(c, selected.total, type, buffer_count, datatype);
	return bytes;
}

static int64_t access_list(struct call *c, bool posted, int id, int variable, int n,
			   int64_t *const *starts, int64_t *const *counts, int64_t type,
			   int64_t buffer_count, uintptr_t datatype)
{
	const struct nc_library *lib = nc_library(c->wrapper, PNETCDF);
	const struct nc_variable *v = variable_of(c, lib, id, variable);
	struct nc_selected selected = {0, -1, -1};
	int64_t bytes = -1;

	if (v) {
		selected = nc_select_list(c, v, n, starts, counts);
		bytes = memory_bytes(v, selected.total, type, buffer_count, datatype);
	}
	fill(c, posted, bytes, selected);
	if (bytes >= 0)
		tell_memory(c, selected.total, type, buffer_count, datatype);
	return bytes;
}

void pnetcdf_data(struct call *c, int id, int variable, const void *start, const void *count,
		  const void *stride, int64_t type, int64_t buffer_count, uintptr_t datatype)
{
	KEEP_ERRNO;

	access(c, false, id, variable, start, count, stride, type, buffer_count, datatype);
}

void pnetcdf_list(struct call *c, int id, int variable, int n, int64_t *const *starts,
		  int64_t *const *counts, int64_t type, int64_t buffer_count, uintptr_t datatype)
{
	KEEP_ERRNO;

	access_list(c, false, id, variable, n, starts, counts, type, buffer_count, datatype);
}

static void post(struct call *c, int id, const int *request, int64_t bytes)
{
	const struct nc_library *lib = nc_library(c->wrapper, PNETCDF);

	if (lib && moved(c) && request && c->thread)
		pnetcdf_pend(c, lib, id, *request, bytes);
}

void pnetcdf_posted(struct call *c, int id, int variable, const void *start, const void *count,
		    const void *stride, int64_t type, int64_t buffer_count, uintptr_t datatype,
		    const int *request)
{
	KEEP_ERRNO;

	post(c, id, request,
	     access(c, true, id, variable, start, count, stride, type, buffer_count, datatype));
}

void pnetcdf_list_posted(struct call *c, int id, int variable, int n, int64_t *const *starts,
			 int64_t *const *counts, int64_t type, int64_t buffer_count,
			 uintptr_t datatype, const int *request)
{
	KEEP_ERRNO;

	post(c, id, request,
	     access_list(c, true, id, variable, n, starts, counts, type, buffer_count, datatype));
}

/* The -vard calls: an MPI datatype says which bytes of the variable. */
void pnetcdf_typed_file(struct call *c, int id, int variable, uintptr_t filetype,
			int64_t buffer_count, uintptr_t datatype)
{
	KEEP_ERRNO;
	const struct mpi_abi *abi = mpi_abi_known();
	const struct nc_library *lib = nc_library(c->wrapper, PNETCDF);
	const struct nc_variable *v = variable_of(c, lib, id, variable);
	struct nc_selected selected = {0, -1, -1};
	struct mpi_layout layout;
	int64_t bytes = -1;

	if (v && abi && mpi_handle(abi, filetype) == abi->datatype_null) {
		bytes = 0;
	} else if (v && abi) {
		const int64_t file_bytes = mpi_learn_bytes(1, filetype);

		if (mpi_flatten(abi, filetype, &layout))
			selected.number = mpi_layout_define(c, &layout, 0);
		if (v->element)
			bytes = memory_bytes(v, file_bytes / (int64_t)v->element, 0, buffer_count,
					     datatype);
	}
	fill(c, false, bytes, selected);
}

/* The m- calls: several variables in one; their sizes are added up. */
void pnetcdf_several(struct call *c, int id, int n, const int *variables, int64_t *const *starts,
		     int64_t *const *counts, bool single, int64_t type,
		     const int64_t *buffer_counts, const void *datatypes)
{
	KEEP_ERRNO;
	const struct mpi_abi *abi = mpi_abi_known();
	const struct nc_library *lib = nc_library(c->wrapper, PNETCDF);
	int64_t bytes = lib && moved(c) && c->thread && (type || abi) ? 0 : -1;

	for (int i = 0; i < n && bytes >= 0; i++) {
		const struct nc_variable *v = nc_variable(c, lib, id, variables[i]);
		const void *count = single ? (const void *)nc_ones() : counts ? counts[i] : NULL;
		int64_t one = -1;

		if (v)
			one = nc_select(c, lib, v, starts ? starts[i] : NULL, count, NULL).total;
		if (v)
			one = memory_bytes(v, one, type, type ? 0 : buffer_counts[i],
					   type ? 0 : mpi_handle_at(abi, datatypes, (size_t)i));
		bytes = one < 0 ? -1 : bytes + one;
	}
	c->field[SIZE] = c->field[BYTES] = bytes;
}
