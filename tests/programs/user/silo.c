/* A mesh and a variable into a Silo file in its HDF5 form, and back. silo FILE */
#include <silo.h>
#include <stdio.h>
#include <string.h>

enum { NODES = 64 };

static double x[NODES], y[NODES], density[NODES * NODES];

int main(int argc, char **argv)
{
	const char *path = argv[argc - 1];
	const char *names[] = {"x", "y"};
	double *coordinates[] = {x, y};
	int dims[] = {NODES, NODES};
	DBfile *file = DBCreate(path, DB_CLOBBER, DB_LOCAL, "test", DB_HDF5);
	DBquadvar *back;

	for (int i = 0; i < NODES; i++)
		x[i] = y[i] = i;
	for (int i = 0; i < NODES * NODES; i++)
		density[i] = i;
	if (!file ||
	    DBPutQuadmesh(file, "mesh", names, coordinates, dims, 2, DB_DOUBLE, DB_COLLINEAR,
			  NULL) ||
	    DBPutQuadvar1(file, "density", "mesh", density, dims, 2, NULL, 0, DB_DOUBLE,
			  DB_NODECENT, NULL) ||
	    DBClose(file))
		return 1;
	file = DBOpen(path, DB_HDF5, DB_READ);
	back = file ? DBGetQuadvar(file, "density") : NULL;
	if (!back || memcmp(back->vals[0], density, sizeof(density)) != 0)
		return 2;
	DBFreeQuadvar(back);
	DBClose(file);
	puts("done");
	return 0;
}
