/* Programs under test stop at once, with a line, when something that must work does not. */
#ifndef MUST_H
#define MUST_H

#include <stdio.h>
#include <stdlib.h>

#define MUST(condition)                                                                            \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			fprintf(stderr, "%s:%d: %s: ", __FILE__, __LINE__, #condition);            \
			perror("");                                                                \
			exit(99);                                                                  \
		}                                                                                  \
	} while (0)

#endif
