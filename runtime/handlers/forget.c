/* See forget.h. */
#include "handlers/forget.h"

void handlers_forget(void)
{
	aio_posts_forget();
	hdf5_events_forget();
	hdf5_files_forget();
	mpi_files_forget();
	mpi_requests_forget();
	netcdf_forget();
	pnetcdf_forget();
	uring_forget();
}
