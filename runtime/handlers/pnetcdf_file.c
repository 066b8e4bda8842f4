/* PnetCDF files: opened and closed, defined, hints. */
#include "handlers/library.h"
#include "handlers/mpi_abi.h"
#include "handlers/mpiio.h"
#include "handlers/pnetcdf.h"

enum { OWN_OPENS = 0x504e4344 }; /* groups count them apart from those that MPI-IO sees */

static void tell_hints(struct call *c, const struct nc_library *lib, struct nc_file *f, int id)
{
	const struct mpi_abi *abi = mpi_abi_known();
	uintptr_t info = 0;

	if (!abi || !lib->info || f->hints_recorded || lib->info(id, &info) != 0)
		return;
	f->hints_recorded = true;
	mpi_hints(c, abi, f->object, true, info);
	if (mpi_handle(abi, info) != abi->info_null)
		abi->info_free(&info);
}

/* `all`: the hints in force are known now, not only at the end of define mode. */
static void opened(struct call *c, uintptr_t comm, const char *path, int mode, uintptr_t info,
		   const int *id, bool all)
{
	KEEP_ERRNO;
	const struct mpi_abi *abi = mpi_abi(c->wrapper);
	const struct nc_library *lib = nc_library(c->wrapper, PNETCDF);
	struct group_def group;
	bool grouped;

	if (c->error || !id || !path || !lib) {
		opened_nothing(c, path ? mpi_bare_name(path) : NULL);
		return;
	}
	grouped = abi && mpi_group(abi, comm, &group);
	if (grouped)
		group.ordinal = mpi_next_ordinal(group.hash ^ OWN_OPENS);
	struct nc_file *f =
		nc_opened(c, lib, *id, mpi_bare_name(path), mode, grouped ? &group : NULL);
	if (!f || !c->thread)
		return;
	nc_tell_format(c, lib, *id);
	if (abi)
		mpi_hints(c, abi, f->object, false, info);
	if (all)
		tell_hints(c, lib, f, *id);
}

void pnetcdf_created(struct call *c, uintptr_t comm, const char *path, int mode, uintptr_t info,
		     const int *id)
{
	opened(c, comm, path, mode, info, id, false);
}

void pnetcdf_opened(struct call *c, uintptr_t comm, const char *path, int mode, uintptr_t info,
		    const int *id)
{
	opened(c, comm, path, mode, info, id, true);
}

void pnetcdf_closing(struct call *c, int id)
{
	nc_closing(c, nc_library(c->wrapper, PNETCDF), id);
}

void pnetcdf_closed(struct call *c, int result, int id)
{
	KEEP_ERRNO;
	const struct nc_library *lib = nc_library(c->wrapper, PNETCDF);

	nc_closed(c, lib, result);
	if (lib && !nc_file(lib, id))
		pnetcdf_drop(lib, id);
}

/* End of define mode: what was laid out is in force. */
void pnetcdf_defined(struct call *c, int id)
{
	KEEP_ERRNO;
	const struct nc_library *lib = nc_library(c->wrapper, PNETCDF);
	struct nc_file *f = lib ? nc_file(lib, id) : NULL;

	if (f && !c->error && c->thread)
		tell_hints(c, lib, f, id);
}
