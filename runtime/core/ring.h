/* Memory that outlives the process. The lock is held. */
#ifndef FATHOM_RING_H
#define FATHOM_RING_H

#include <stdbool.h>
#include <stdint.h>

#include "core/chunk.h"

/* A chunk, counter table or thread page that is free: no magic, so that a reader takes it for nothing. */
struct spare {
	char magic[8];
	struct spare *next;
};
/* /dev/shm is everybody's: is the directory of rings this user's, and no link? */
bool ring_is_own(void);
struct chunk *ring_chunk(bool first); /* a thread's first, or a further one; NULL: none */
void ring_chunk_free(void *chunk);
struct thread_page *ring_page(void);
void ring_page_free(struct thread_page *page);
void ring_remove(void);
void ring_set_aside(void); /* as much as a program that limits its system calls may need */
void ring_forget(void);    /* what no thread has of the run before goes back to the system */
/* How long a file of this process may become (RLIMIT_FSIZE). */
uint64_t file_limit(void);
/* Should it have become less since: a file that grows beyond it raises SIGXFSZ. With the lock held all signals are
 * blocked, and ours must not stay pending. */
long file_result(long result);
/* Opens one of our files, by raising the soft limit for this moment where the program has used up its
 * descriptors. */
long file_open(const char *path, int flags, int mode);

#endif
