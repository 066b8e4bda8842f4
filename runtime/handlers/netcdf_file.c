/* netCDF-C's files: opened and closed, groups, access by several ranks. */
#include "handlers/library.h"
#include "handlers/mpi_abi.h"
#include "handlers/mpiio.h"
#include "handlers/netcdf.h"

enum {
	OWN_OPENS = 0x6e657463, /* groups count them apart from those that MPI-IO sees */
	COLLECTIVE = 1,         /* NC_COLLECTIVE */
};

static void opened(struct call *c, const struct nc_library *lib, const char *path, int mode,
		   const struct group_def *group, const int *id)
{
	struct group_def ours;
	struct nc_file *f;
	int format = 0, flags = 0;

	if (group) {
		ours = *group;
		ours.ordinal = mpi_next_ordinal(group->hash ^ OWN_OPENS);
	}
	f = nc_opened(c, lib, *id, path, mode, group ? &ours : NULL);
	if (!f)
		return;
	f->over_pnetcdf = lib->format_extended && lib->format_extended(*id, &format, &flags) == 0 &&
			  format == NC_FORMAT_PNETCDF;
	if (c->thread)
		nc_tell_format(c, lib, *id);
}

/* Did the open succeed, and is there all that is needed to tell of it? */
static const struct nc_library *library_if_open(struct call *c, const char *path, const int *id)
{
	const struct nc_library *lib = nc_library(c->wrapper, NETCDF);

	if (!c->error && id && path && lib)
		return lib;
	opened_nothing(c, path);
	return NULL;
}

void netcdf_opened(struct call *c, const char *path, int mode, const int *id)
{
	KEEP_ERRNO;
	const struct nc_library *lib = library_if_open(c, path, id);

	if (lib)
		opened(c, lib, path, mode, mpi_group_inside(c), id);
}

void netcdf_opened_together(struct call *c, const char *path, int mode, uintptr_t comm,
			    uintptr_t info, const int *id)
{
	KEEP_ERRNO;
	const struct mpi_abi *abi = mpi_abi(c->wrapper);
	const struct nc_library *lib = library_if_open(c, path, id);
	struct group_def group;

	if (!lib)
		return;
	opened(c, lib, path, mode, abi && mpi_group(abi, comm, &group) ? &group : NULL, id);
	if (abi && c->thread && !c->cancel)
		mpi_hints(c, abi, c->object, false, info);
}

void netcdf_closing(struct call *c, int id)
{
	nc_closing(c, nc_library(c->wrapper, NETCDF), id);
}

void netcdf_closed(struct call *c, int result)
{
	KEEP_ERRNO;

	nc_closed(c, nc_library(c->wrapper, NETCDF), result);
}

void netcdf_group_defined(struct call *c, const int *id)
{
	KEEP_ERRNO;
	const struct nc_library *lib = nc_library(c->wrapper, NETCDF);
	const struct nc_variable *group =
		lib && id && !c->error ? nc_variable(c, lib, *id, NC_FILE) : NULL;

	if (group)
		c->object = group->object;
}

/* A variable that is given a filter in a file of several ranks is accessed collectively from then on; one that
 * has it already, in a file that is opened, is not. */
void netcdf_filtered(struct call *c, int id, int variable)
{
	KEEP_ERRNO;
	const struct nc_library *lib = nc_library(c->wrapper, NETCDF);
	struct nc_variable *v =
		lib && !c->error && variable >= 0 ? nc_variable(c, lib, id, variable) : NULL;

	if (v)
		v->collective = true;
}

void netcdf_access_set(struct call *c, int id, int variable, int access)
{
	KEEP_ERRNO;
	const struct nc_library *lib = nc_library(c->wrapper, NETCDF);
	struct nc_file *f = lib && !c->error ? nc_file(lib, id) : NULL;
	struct nc_variable *v = f && variable >= 0 ? nc_variable(c, lib, id, variable) : NULL;

	if (f && f->over_pnetcdf)
		f->collective = access == COLLECTIVE;
	if (v) {
		v->collective = access == COLLECTIVE;
		c->object = v->object;
	}
}
