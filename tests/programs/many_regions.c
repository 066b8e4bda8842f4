/* A number of empty regions, all alike but for their step. many_regions COUNT [kill] */
#include <fathom.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	long count = atol(argv[1]);

	fathom_begin("all");
	for (long step = 0; step < count; step++) {
		fathom_begin_int("step", "number", step);
		fathom_end("step");
	}
	if (argc > 2)
		raise(SIGKILL);
	fathom_end("all");
	puts("done");
	return 0;
}
