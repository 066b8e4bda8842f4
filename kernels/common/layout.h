/* What a kernel's file holds, and which part of it a rank holds: dimensions, arrays, pieces, values.
 * Knows no I/O library: the parallel forms and the serial writers share it. */
#ifndef LAYOUT_H
#define LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	LAYOUT_RANK = 5, /* dimensions of an array, at most */
	LAYOUT_DIMS = 32,
	LAYOUT_ATTRIBUTES = 16,
	LAYOUT_ARRAYS = 64,
};

enum element { INT32, FLOAT32, FLOAT64 };

struct dim {
	const char *name;
	uint64_t size;
	bool record; /* netCDF: the unlimited one */
};

struct attribute {
	const char *name;
	const char *text; /* or NULL, and then: */
	enum element type;
	double value;
};

struct array {
	char name[64]; /* HDF5: a path, its groups are made */
	enum element type;
	unsigned rank;
	unsigned dim[LAYOUT_RANK];   /* of the layout's, slowest first */
	uint64_t chunk[LAYOUT_RANK]; /* HDF5; 0: contiguous */
	uint64_t seed;               /* tells its values from another array's */
};

struct layout {
	char name[64]; /* of the file, without suffix */
	unsigned number;
	int owner;        /* the only rank that opens it; -1: all open it together */
	bool posix;       /* by POSIX calls, whatever the program's form */
	bool independent; /* whatever -m says */
	bool buffered;    /* its buffers are reused: PnetCDF posts with bput */
	unsigned batch;   /* PnetCDF: so many posts per wait; 0: all */
	uint64_t align;   /* HDF5: large objects begin at multiples of it; 0: anywhere */
	unsigned dims, attributes, arrays;
	struct dim dim[LAYOUT_DIMS];
	struct attribute attribute[LAYOUT_ATTRIBUTES];
	struct array array[LAYOUT_ARRAYS];
};

/* Where a piece lies in a larger block of memory (guard cells, components side by side): the memory's
 * extents and the part of them that is the piece. rank 0: packed. A trailing dimension more than
 * the array's holds components. */
struct memory {
	unsigned rank;
	uint64_t extent[LAYOUT_RANK + 1], start[LAYOUT_RANK + 1], count[LAYOUT_RANK + 1];
};

/* A box of one array that one rank moves in one call. */
struct piece {
	unsigned array;
	uint64_t start[LAYOUT_RANK], count[LAYOUT_RANK];
	struct memory memory;
	void *buffer;
	bool lent; /* the buffer is the kernel's, not ours */
};

struct pieces {
	struct piece *piece;
	unsigned n, room;
};

/* Building a description. All give up with a line if a limit above does not suffice. */
void layout_begin(struct layout *l, unsigned number, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
unsigned layout_dim(struct layout *l, const char *name, uint64_t size);
void layout_text(struct layout *l, const char *name, const char *text);
void layout_number(struct layout *l, const char *name, enum element type, double value);
/* Appends an array over `rank` dims, slowest first. */
struct array *layout_array(struct layout *l, enum element type, unsigned rank, const unsigned *dim,
			   const char *format, ...) __attribute__((format(printf, 5, 6)));
/* Appends a piece that is the whole array; the caller narrows it. */
struct piece *piece_add(struct pieces *p, const struct layout *l, unsigned array);

size_t element_size(enum element type);
uint64_t array_extent(const struct layout *l, const struct array *a, unsigned d);
uint64_t array_bytes(const struct layout *l, const struct array *a);
/* Byte at which the array begins in a file that holds the arrays one after another. */
uint64_t array_offset(const struct layout *l, unsigned array);
uint64_t piece_elements(const struct layout *l, const struct piece *p);
uint64_t piece_bytes(const struct layout *l, const struct piece *p);

/* The value of an array's element: exact in every type, and another for its neighbours. */
double element_value(const struct array *a, uint64_t index);
void pieces_allocate(struct pieces *p, const struct layout *l);
void pieces_fill(struct pieces *p, const struct layout *l);
/* Makes every value wrong, so that what is not read is found. */
void pieces_spoil(struct pieces *p, const struct layout *l);
/* Number of wrong values; describes the first in `what`. */
uint64_t pieces_wrong(const struct pieces *p, const struct layout *l, char *what, size_t size);
void pieces_free(struct pieces *p);

/* Prints one line and ends the program; run.c's ends the whole job. */
_Noreturn void fail(const char *call, const char *object, const char *why);

#endif
