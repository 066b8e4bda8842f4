/* What a serial writer is: the oracle of the form that ends in the same suffix. */
#ifndef SERIAL_H
#define SERIAL_H

#include "kernel.h"

extern const char serial_suffix[];
/* Writes one file; ends the program with a line if it cannot. */
void serial_file(const char *path, const struct layout *l);
/* Hands the values of a whole array to `write`. */
void serial_array(const struct layout *l, unsigned array,
		  void (*write)(void *file, const struct layout *l, unsigned array,
				const void *data),
		  void *file);

#endif
