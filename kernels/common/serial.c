/* The main of every serial writer: the same files by one process, whole arrays at a time. */
#include "serial.h"

#include <stdio.h>
#include <stdlib.h>

_Noreturn void fail(const char *call, const char *object, const char *why)
{
	fprintf(stderr, "%s: %s: %s: %s\n", kernel.name, call, object, why);
	exit(1);
}

void serial_array(const struct layout *l, unsigned array,
		  void (*write)(void *file, const struct layout *l, unsigned array,
				const void *data),
		  void *file)
{
	struct pieces p = {0};

	piece_add(&p, l, array);
	pieces_allocate(&p, l);
	pieces_fill(&p, l);
	write(file, l, array, p.piece[0].buffer);
	pieces_free(&p);
}

int main(int argc, char **argv)
{
	static struct layout l;
	struct options o;
	char path[4096];

	if (!options_read(&o, argc, argv, 0, true))
		return 2;
	for (unsigned file = 0; file < kernel.files(); file++) {
		kernel.layout(&l, file);
		snprintf(path, sizeof(path), "%s/%s.%s", o.directory, l.name, serial_suffix);
		serial_file(path, &l);
	}
	return 0;
}
