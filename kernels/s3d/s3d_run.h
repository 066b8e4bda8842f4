/* The parallel forms' main loop: checkpoints written, read back when asked, times printed. */
#ifndef S3D_RUN_H
#define S3D_RUN_H

#include <mpi.h>

#include "s3d.h"

struct s3d_form {
	const char *suffix;
	/* Both return after the file is closed, and end the job with a line on error. data[v] is the
	 * rank's block of variable v. */
	void (*write)(const char *path, const struct s3d_options *o, const struct s3d_block *b,
		      double *const data[], unsigned checkpoint, MPI_Info info);
	void (*read)(const char *path, const struct s3d_options *o, const struct s3d_block *b,
		     double *const data[], MPI_Info info);
};

int s3d_run(int argc, char **argv, const struct s3d_form *form);
/* One line: which call, on what, why; then the job ends. */
_Noreturn void s3d_fail(const char *call, const char *object, const char *why);

#endif
