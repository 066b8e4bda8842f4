/* S3D-IO: the checkpoint pattern of the combustion code S3D. What all forms of the kernel share:
 * options, decomposition, values. The forms differ only in how a checkpoint meets the disk. */
#ifndef S3D_H
#define S3D_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	S3D_VARIABLES = 4,
	S3D_HINTS = 32, /* at most this many -H options */
	S3D_RANK = 4,   /* dimensions of a variable: component, z, y, x (x is fastest) */
};

struct s3d_variable {
	const char *name;
	size_t components;
};
extern const struct s3d_variable s3d_variables[S3D_VARIABLES];

struct s3d_options {
	size_t global[3]; /* points in x, y, z */
	size_t ranks[3];  /* processes in x, y, z */
	unsigned checkpoints;
	bool independent;
	bool restart; /* read every checkpoint back and compare */
	const char *directory;
	unsigned hints;
	struct {
		char key[64];
		char value[192];
	} hint[S3D_HINTS];
};

/* The block of one rank: first point and number of points in x, y, z. */
struct s3d_block {
	size_t start[3];
	size_t count[3];
};

/* Reads the command line. Prints one line to stderr and returns false if it is wrong. */
bool s3d_options(struct s3d_options *o, int argc, char **argv, bool complain);
/* Whole grid when `ranks` are ignored (rank < 0), else the rank's block: x fastest. */
struct s3d_block s3d_block(const struct s3d_options *o, int rank);
size_t s3d_points(const struct s3d_block *b);
/* Element at which variable v begins in a file that holds the variables one after another. */
uint64_t s3d_first(const struct s3d_options *o, unsigned v);
/* Fills (or checks) one block of variable v; memory has the file's order, no ghost cells.
 * s3d_check returns the number of wrong values and describes the first in `what`. */
void s3d_fill(double *data, const struct s3d_options *o, const struct s3d_block *b, unsigned v,
	      unsigned checkpoint);
size_t s3d_check(const double *data, const struct s3d_options *o, const struct s3d_block *b,
		 unsigned v, unsigned checkpoint, char *what, size_t size);
/* DIR/pressure_wave_test.<time>.field.<suffix> */
void s3d_path(char *path, size_t size, const struct s3d_options *o, unsigned checkpoint,
	      const char *suffix);
double s3d_time(unsigned checkpoint); /* simulated time, an attribute of the HDF5 form */

#endif
