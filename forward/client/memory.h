/* A user's memory vector as one run of bytes. */
#ifndef FWD_MEMORY_H
#define FWD_MEMORY_H

#include <stdint.h>
#include <sys/uio.h>

struct memory {
	struct iovec *part; /* a copy; what it points to is the user's */
	uint32_t parts;
	uint64_t bytes;
	struct iovec one; /* that copy, where it is one part */
};

/* Bytes of a vector; UINT64_MAX if that is no number. */
uint64_t memory_length(const struct iovec *part, uint32_t parts);
/* Bytes from..from+length of a vector; ENOMEM. */
int memory_take(struct memory *m, const struct iovec *part, uint32_t parts, uint64_t from,
		uint64_t length);
void memory_free(struct memory *m);
/* The pieces of bytes at..at+length, at most `most` of them; how many. */
int memory_pieces(const struct memory *m, uint64_t at, uint64_t length, struct iovec *out,
		  int most);
void memory_put(const struct memory *m, uint64_t at, const void *from, uint64_t length);
void memory_get(const struct memory *m, uint64_t at, void *to, uint64_t length);
/* Moves bytes to a later place; they may overlap. */
void memory_move_up(const struct memory *m, uint64_t to, uint64_t from, uint64_t length);
uint32_t memory_crc(const struct memory *m, uint64_t at, uint64_t length, uint32_t crc);

#endif
