/* The line of its Python program that a thread is in: read in place, without the interpreter's help. */
#ifndef FATHOM_PYTHON_H
#define FATHOM_PYTHON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct thread;

struct python_line {
	uint64_t key; /* of this line in this code, and of nothing else */
	const char *code;
	int at; /* its instruction, as PyCode_Addr2Line wants it */
};

/* Is there an interpreter whose frames we can read? `symbol` looks a name up in the program and its libraries. */
void python_begin(void *(*symbol)(const char *name));
bool python_known(void);
const void *python_code(void); /* an address in the interpreter */
/* Where the thread is in the user's own code, from inside outwards; where all is of libraries, the innermost of them.
 * How many there are, at most `most`; 0: it is in no Python code. */
uint32_t python_lines(struct thread *t, struct python_line *lines, uint32_t most);
/* What its code says of itself, as UTF-8. */
size_t python_file(const struct python_line *line, char *out, size_t size);
size_t python_function(const struct python_line *line, char *out, size_t size);
uint32_t python_number(const struct python_line *line); /* 0: not known */

#endif
