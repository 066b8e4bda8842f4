/* A time loop that writes a checkpoint every few steps, with its parts named for Fathom.
 *
 *	cc -I$PREFIX/include regions.c -o regions
 *	fathom run -o regions -- ./regions out
 *	fathom query regions --sql "select enclosing as region, op, sum(calls) as calls, sum(bytes) as bytes,
 *		sum(time) // 1000 as us from counters where enclosing_layer = 'user' group by all order by us desc"
 *
 * The same program runs without Fathom as if the regions were not there. */
#include <fathom.h>
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

static void write_variable(FILE *file, const char *name, const double *values)
{
	fathom_begin_on("write variable", name);
	if (fwrite(values, sizeof(*values), POINTS, file) != POINTS) {
		perror("fwrite");
		exit(1);
	}
	fathom_end("write variable");
}

static void checkpoint(const char *path, int step)
{
	FILE *file;

	fathom_begin_int("checkpoint", "step", step);
	file = fopen(path, "w");
	if (!file) {
		perror(path);
		exit(1);
	}
	write_variable(file, "density", density);
	write_variable(file, "energy", energy);
	fclose(file);
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
