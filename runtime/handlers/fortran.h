/* Statements of Fortran: libgfortran's, since GCC 8. */
#ifndef FATHOM_FORTRAN_H
#define FATHOM_FORTRAN_H

#include <stdint.h>

#include "core/call.h"

/* How every parameter block of libgfortran's begins; what lies behind it is each statement's own. */
struct fortran_statement {
	uint32_t flags;
	int32_t unit;
	const char *source;
	int32_t line;
	size_t message_length;
	char *message;
	int32_t *status;
};

void fortran_begin(bool writes, const struct fortran_statement *said, const void *frame,
		   const void *site);
void fortran_ends(const struct fortran_statement *said);

/* The wrapper's own frame and caller. */
static inline __attribute__((always_inline)) void
fortran_write_begins(const struct fortran_statement *said)
{
	fortran_begin(true, said, __builtin_frame_address(0), __builtin_return_address(0));
}

static inline __attribute__((always_inline)) void
fortran_read_begins(const struct fortran_statement *said)
{
	fortran_begin(false, said, __builtin_frame_address(0), __builtin_return_address(0));
}

static inline int64_t fortran_unit(const struct fortran_statement *said)
{
	return said->unit;
}

/* The file of its unit; 0: not known. */
uint32_t fortran_object(const struct fortran_statement *said);
void fortran_opened(struct call *c, const struct fortran_statement *said);
void fortran_closed(struct call *c, const struct fortran_statement *said);
void fortran_failed(struct call *c, const struct fortran_statement *said);

#endif
