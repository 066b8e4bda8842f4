/* A time loop that writes a checkpoint every few steps, with its parts named for Fathom.
 *
 *	cc -I$PREFIX/include regions.c -o regions
 *	fathom run -o regions -- ./regions out
 *	fathom show regions
 *
 * The same program runs without Fathom as if the regions were not there. */
#include <fathom.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { POINTS = 1 << 16, STEPS = 20, EVERY = 5 };

static double density[POINTS], energy[POINTS];

static void compute(int step)
{
	for (int i = 0; i < POINTS; i++)
		density[i] = energy[i] = step + 1.0 / (i + 1);
}

static void write_variable(int file, const char *name, const double *values)
{
	fathom_begin_on("write variable", name);
	if (write(file, values, sizeof(density)) != sizeof(density)) {
		perror("write");
		exit(1);
	}
	fathom_end("write variable");
}

static void checkpoint(const char *path, int step)
{
	int file;

	fathom_begin_int("checkpoint", "step", step);
	file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	if (file < 0) {
		perror(path);
		exit(1);
	}
	write_variable(file, "density", density);
	write_variable(file, "energy", energy);
	close(file);
	fathom_end("checkpoint");
}

int main(int argc, char **argv)
{
	for (int step = 0; step < STEPS; step++) {
		fathom_begin_int("step", "number", step);
		compute(step);
		if (step % EVERY == 0)
			checkpoint(argc > 1 ? argv[1] : "out", step);
		fathom_end("step");
	}
	return 0;
}
