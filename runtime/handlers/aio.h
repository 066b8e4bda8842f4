/* What the rows of aio.toml, libaio.toml and uring.toml ask for, and what their handlers share: posted operations that
 * wait for their completion. */
#ifndef FATHOM_HANDLERS_AIO_H
#define FATHOM_HANDLERS_AIO_H

#include <aio.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/call.h"
#include "core/layers.h"

struct iocb; /* linux/aio_abi.h and libaio.h have their own of the same shape */
struct io_event;
struct io_uring;

/* ---- posts and completions (aio_pending.c) ---- */

enum aio_action {
	AIO_READ,
	AIO_WRITE,
	AIO_SYNC,
	AIO_OTHER,
	AIO_OPEN,    /* AIO_OTHER that gives a descriptor */
	AIO_NO_FILE, /* has no rows; only takes its place among operations of the same key */
};

struct aio_post {
	uint64_t queue, key; /* what its completion will name */
	enum aio_action action;
	int opcode;
	uint32_t object;
	int64_t size, offset; /* offset may be UNKNOWN_OFFSET */
	struct call_ref call; /* stream 0: it has no row */
	bool twin; /* another one of its key was pending too: which completion is whose is a guess */
};

/* Makes the post's row, at the time `at`, inside the call that is open. */
void aio_post_row(struct aio_post *post, uint64_t at);
void aio_pend(const struct aio_post *post);
/* The oldest pending operation of that key. `keep`: more completions of it follow. */
bool aio_take(uint64_t queue, uint64_t key, bool keep, struct aio_post *post);
/* One completion: its row and its link; result is -errno on failure. False: nothing of that key is pending. */
bool aio_done(uint64_t queue, uint64_t key, bool keep, int64_t result, uint64_t at);
/* All pending ones of a queue; how many there were. */
uint32_t aio_forget(uint64_t queue);
uint32_t aio_queue_object(uint64_t queue);
void aio_queue_made(struct call *c, uint64_t queue);
void aio_queue_gone(uint64_t queue);

/* ---- POSIX (aio.c) ---- */
void posix_aio_posting(const struct call *c, const struct aiocb *block, enum aio_action action);
void posix_aio_posted(int result, const struct aiocb *block);
void posix_aio_list_posting(struct aiocb *const *list, int count);
void posix_aio_list_posted(int mode, struct aiocb *const *list, int count, uint64_t ended);
bool posix_aio_seen(const struct aiocb *block, uint64_t ended);
void posix_aio_asked(struct call *c, const struct aiocb *block, uint64_t ended);
void posix_aio_list_seen(const struct aiocb *const *list, int count, uint64_t ended);

/* ---- the kernel's (aio_kernel.c) ---- */
uint32_t libaio_object(uintptr_t context);
void libaio_made(struct call *c, int64_t result, const uintptr_t *context);
void libaio_gone(uintptr_t context);
void libaio_posting(uintptr_t context, int64_t count, struct iocb *const *blocks);
void libaio_posted(uintptr_t context, int64_t count, struct iocb *const *blocks, int64_t taken,
		   uint64_t ended);
bool libaio_seen(uintptr_t context, const struct io_event *events, int64_t count, uint64_t ended);
void libaio_fetched(struct call *c, uintptr_t context, const struct io_event *events, int64_t count,
		    uint64_t ended);

#endif
