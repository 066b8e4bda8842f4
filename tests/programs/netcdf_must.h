/* netCDF programs under test stop, with a line, when a call fails. */
#ifndef NETCDF_MUST_H
#define NETCDF_MUST_H

#include <netcdf.h>
#include <stdio.h>
#include <stdlib.h>

#define MUST(call)                                                                                 \
	do {                                                                                       \
		const int status_ = (call);                                                        \
		if (status_) {                                                                     \
			fprintf(stderr, "%s: %s\n", #call, nc_strerror(status_));                  \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

#endif
