/* S3D whose checkpoints are written by code of fathom generate (examples/generate/s3d.iog): only the call is here. */
#include "../../kernels/common/run.h"
#ifdef BY_FORTRAN
/* s3d_by_fortran.f90 */
int s3d_write_by_fortran(MPI_Fint comm, const char *path, const int64_t *sizes, const double *times,
			 double *yspecies, double *u, double *pressure, double *temp);
#else
#include "s3d_io.h"
#endif

enum { YSPECIES, U, PRESSURE, TEMP };

static void write_generated(const struct job *job, const char *path, const struct layout *l,
			    const struct pieces *p)
{
	const struct piece *piece = p->piece;
	const uint64_t *count = piece[PRESSURE].count; /* z, y, x */
	double times[] = {l->attribute[0].value, l->attribute[1].value};
	int64_t sizes[6];

	for (unsigned d = 0; d < 3; d++) {
		sizes[d] = (int64_t)l->dim[d].size;
		sizes[d + 3] = sizes[d] / (int64_t)count[2 - d];
	}
#ifdef BY_FORTRAN
	int error = s3d_write_by_fortran(MPI_Comm_c2f(job->communicator), path, sizes, times,
					 piece[YSPECIES].buffer, piece[U].buffer,
					 piece[PRESSURE].buffer, piece[TEMP].buffer);
#else
	int error = s3d_write(job->communicator, path, sizes[0], sizes[1], sizes[2], sizes[3],
			      sizes[4], sizes[5], times[0], times[1], piece[YSPECIES].buffer,
			      piece[U].buffer, piece[PRESSURE].buffer, piece[TEMP].buffer);
#endif
	if (error)
		fail("s3d_write", l->name, "failed");
}

const struct form form_generated = {"nc", true, write_generated, NULL};
