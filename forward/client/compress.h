/* Data of frames, compressed: u32 its length, then a frame of Zstandard. The library is loaded when it is asked for. */
#ifndef FWD_COMPRESS_H
#define FWD_COMPRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "memory.h"

/* Loads libzstd; false: it is not there. May be called by many threads. */
bool compress_begin(void);
/* Bytes at..at+length of the memory, compressed, to be freed; `packed` says how many. NULL: it would not be shorter. */
uint8_t *compress_memory(const struct memory *m, uint64_t at, uint32_t length, uint32_t *packed);
/* Compressed data into the memory at `at`, at most `most` bytes of it; how many, or -1: it is not what it says. */
int64_t expand_memory(const struct memory *m, uint64_t at, uint64_t most, const uint8_t *packed,
		      size_t length);

#endif
