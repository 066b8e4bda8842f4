/* Functions of libraries that were linked into the program: no slot leads to them, so jumps over their first
 * instructions do. What is to be written was worked out by fathom-engine (docs/hidden-format.md). */
#ifndef FATHOM_HIDDEN_H
#define FATHOM_HIDDEN_H

#include <stdbool.h>
#include <stdint.h>

/* What engine/attach copies into the program while all of its threads stand still, and back again. */
struct hidden_jump {
	uint64_t at;
	uint8_t before[8], jump[8]; /* 5 bytes each */
};
struct hidden_jumps {
	uint64_t count;
	struct hidden_jump jump[];
};

/* Reads the file and takes its place beside the program; once, since a program stays what it is. NULL: nothing. */
void hidden_read(const char *path);
/* Under the loader's lock: who calls such a function gets to its wrapper. */
void hidden_patch(void);
/* … to the function again, for those that are on the way. */
void hidden_unpatch(void);
const struct hidden_jumps *hidden_jumps(void); /* NULL: none */

bool hidden_is_code(uintptr_t address);       /* of what stands for their beginnings */
bool hidden_is_function(const void *address); /* one that has its jump, or may get it */
void *hidden_find(const char *name);          /* any symbol of such a library; NULL: none */

#endif
