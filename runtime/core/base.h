/* Hints to the compiler, and the sizes of what core keeps. */
#ifndef FATHOM_BASE_H
#define FATHOM_BASE_H

#define likely(x)   __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)
#define barrier()   __asm__ volatile("" ::: "memory")

enum {
	PAGE = 4096,
	CHUNK_BYTES = 65536,
	CHUNK_HEADER = 192,
	CHUNKS_PER_THREAD = 16, /* 1 MiB, then they are written out */
	RING_CHUNKS = 1024,     /* per process: 64 MiB; a thread's first chunk may be one more */
	ROW_ROOM = 512,         /* more than any row and its op record */
	SCRATCH = 16384,        /* the largest record payload */
	AFTER_TEXT = 512,       /* of it is kept for what follows a text: numbers */
	PATTERNS = 128,
	SITES = 64,
	PATHS = 128,        /* of calls, to their places; */
	ALIKE = 8,          /* so many of them in one place */
	CALLERS = 24,       /* in one: further ones are unknown */
	TRIALS = 64,        /* calls from an address, before it is taken to have one path */
	UNWOUND = 4096,     /* of a thread's calls without asking what that costs, */
	UNWOUND_SHARE = 16, /* and one of so many */
	LINES = 256,        /* of Python */
	PYTHON_LINES = 16,  /* of the user's, in a path */
	FILES = 256,        /* of Python, whose owner is known */
	FRAMES = 128,       /* of Python, looked at to find the user's */
	USUAL = 64,         /* entries of struct usual, */
	COUNTER_PLACES = 128,
	PATH_BYTES = 4096,
	OWN_DESCRIPTORS = 16, /* that a vfork child may open and be followed */
	MARKS = 256,          /* per process image; further ones are counted */
};

#endif
