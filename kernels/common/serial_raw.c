/* stdio: the files of the MPI-IO and POSIX forms, byte for byte. */
#include "serial.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

const char serial_suffix[] = "bin";

static void append(void *file, const struct layout *l, unsigned array, const void *data)
{
	const struct array *a = &l->array[array];

	if (fwrite(data, array_bytes(l, a), 1, file) != 1)
		fail("fwrite", a->name, strerror(errno));
}

void serial_file(const char *path, const struct layout *l)
{
	FILE *file = fopen(path, "wb");

	if (!file)
		fail("fopen", path, strerror(errno));
	for (unsigned i = 0; i < l->arrays; i++)
		serial_array(l, i, append, file);
	if (fclose(file))
		fail("fclose", path, strerror(errno));
}
