/* What the kernel gives a process: processors that it may use, what its threads got of them and of storage, memory. */
#ifndef FATHOM_PROCESSORS_H
#define FATHOM_PROCESSORS_H

#include <stddef.h>
#include <stdint.h>

#include "core/chunk.h"

struct thread_use thread_use(uint32_t tid); /* of a thread of this process; 0: the main one */
/* Those that `pid` may run on, a bit each, lowest first, into `mask`; bytes up to the last bit. 0: not known. */
size_t processors_allowed(uint32_t pid, uint8_t *mask, size_t size);
/* How many the cgroups of this process give it time of, rounded up; 0: no limit. Asked once: a fork's child is in the
 * same ones. `text` is room for what the kernel says. Lock held. */
uint32_t processors_quota(char *text, size_t size);

/* The most memory of this process image that was resident at once, in bytes; 0: not known. `text` is room for what the
 * kernel says. */
uint64_t memory_peak(char *text, size_t size);

/* Where in /proc/self/cgroup the limit on processor time is: the group's path, which is cut off behind it. `v1`: of the
 * controller `cpu`; else of the one tree of version 2. NULL: nowhere. */
char *quota_group(char *cgroups, bool *v1);
/* "QUOTA PERIOD", both in microseconds, as processors, rounded up; 0: no limit. */
uint32_t quota_processors(const char *text);

#endif
