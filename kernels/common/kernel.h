/* A kernel: its options, its files, and which rank moves what. One per program, in a file of its own
 * that knows no I/O library; linked with a form (how files meet the disk) or with a serial writer. */
#ifndef KERNEL_H
#define KERNEL_H

#include "layout.h"

struct kernel {
	const char *name;
	const char *usage;   /* of its own options and arguments; the directory comes after them */
	const char *letters; /* of its own options, as for getopt; not m r a H n */
	unsigned arguments;  /* how many, the directory not counted */
	bool independent;    /* what it does without -m */
	/* Each returns NULL, or what is wrong. */
	const char *(*option)(int letter, const char *value);
	const char *(*take)(char **argument, int ranks);
	unsigned (*files)(void);
	void (*layout)(struct layout *l, unsigned file);
	/* What `rank` writes, or reads when -r asks for it; in the order of the arrays. */
	void (*pieces)(struct pieces *p, const struct layout *l, int rank, bool reading);
};
extern const struct kernel kernel;

enum { HINTS = 32 };

struct options {
	bool independent;
	bool nonblocking;
	bool check;          /* -r: read back and compare */
	const char *account; /* -a: directory for the ranks' own accounts */
	const char *directory;
	int ranks;
	unsigned hints;
	struct {
		char key[64];
		char value[192];
	} hint[HINTS];
};

/* Reads the command line. `ranks` 0: a serial writer, which is told them by -n. Prints one line and
 * the usage to stderr if it is wrong and `complain` says so. */
bool options_read(struct options *o, int argc, char **argv, int ranks, bool complain);
/* A whole number from `least` to 2^40. */
bool number(uint64_t *out, const char *text, uint64_t least);
/* `parts` numbers whose product is the number of ranks; NULL or what is wrong. */
const char *grid(uint64_t *out, char **argument, unsigned parts, int ranks);
/* Where a rank stands in such a grid, its first part fastest. */
void grid_place(uint64_t *place, int rank, const uint64_t *grid, unsigned parts);

#endif
