/* What the rows of catalog/probes/uring.toml ask for. */
#ifndef FATHOM_HANDLERS_URING_H
#define FATHOM_HANDLERS_URING_H

#include <linux/types.h>
#include <stdint.h>

#include "core/call.h"

struct io_uring; /* of liburing */
struct io_uring_cqe;
struct io_uring_params;
struct __kernel_timespec;

uint32_t uring_object(const struct io_uring *ring);
void uring_made(struct call *c, int result, const struct io_uring *ring);
void uring_closing(struct call *c, const struct io_uring *ring);
int64_t uring_unseen(const struct call *c);
/* What is new in the submission queue; before a call that hands it to the kernel. */
void uring_posting(const struct io_uring *ring);
/* What is new in the completion queue; how many completions that is. */
uint32_t uring_seen(const struct io_uring *ring, uint64_t ended);
/* The same, of a call that waits for `least`: with none wanted and none new it is no row. */
void uring_waited(struct call *c, const struct io_uring *ring, unsigned least, uint64_t ended);
void uring_files(int result, const struct io_uring *ring, unsigned first, const int *files,
		 unsigned count);
void uring_no_files(int result, const struct io_uring *ring);
/* A ring that is not liburing's, or may be one: it is said that nothing is seen of it. */
void uring_bare(void);
void uring_mapped(int fd, int64_t offset);

#endif
