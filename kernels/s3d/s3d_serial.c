/* The same files as s3d_mpiio, by one process with stdio: the oracle, byte for byte. */
#include "s3d.h"

#include <stdio.h>
#include <stdlib.h>

static bool write_file(const char *path, const struct s3d_options *o, unsigned checkpoint)
{
	struct s3d_block whole = s3d_block(o, -1);
	FILE *file = fopen(path, "wb");
	bool good = file != NULL;

	for (unsigned v = 0; good && v < S3D_VARIABLES; v++) {
		size_t n = s3d_variables[v].components * s3d_points(&whole);
		double *data = malloc(n * sizeof(*data));
		good = data != NULL;
		if (good) {
			s3d_fill(data, o, &whole, v, checkpoint);
			good = fwrite(data, sizeof(*data), n, file) == n;
		}
		free(data);
	}
	if (file && fclose(file))
		good = false;
	if (!good)
		perror(path);
	return good;
}

int main(int argc, char **argv)
{
	struct s3d_options o;
	char path[4096];

	if (!s3d_options(&o, argc, argv, true))
		return 2;
	for (unsigned checkpoint = 0; checkpoint < o.checkpoints; checkpoint++) {
		s3d_path(path, sizeof(path), &o, checkpoint, "bin");
		if (!write_file(path, &o, checkpoint))
			return 1;
	}
	return 0;
}
