/* Time: ticks and what they are of. */
#ifndef FATHOM_CLOCK_H
#define FATHOM_CLOCK_H

#include <stdint.h>

#include "core/base.h"
#include "core/chunk.h"

extern uint8_t clock_kind; /* 0 raw ticks, 1 monotonic ns, 2 faked, 3 it stands still */
void clock_begin(const char *setting);
uint64_t ticks_slow(void);
struct clock_triple clock_read(void);
uint64_t clock_ns(void); /* CLOCK_MONOTONIC */
/* Of a program that limits its system calls: the time of now is kept, for where the kernel would have to be asked;
 * the counter may not be read any more: time stands still; both are undone. */
void clock_keep(void);
void clock_stop(void);
void clock_go_on(void);
uint8_t clock_in_chunks(void); /* which clock their ticks are of: clock_kind's first three */
uint64_t clock_ticks_per_second(void); /* 0: unknown here, the reader fits it */

/* The processor's counter: only where clock_kind is 0. */
static inline uint64_t ticks_raw(void)
{
#if defined(__x86_64__)
	return __builtin_ia32_rdtsc();
#else
	uint64_t value;
	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(value));
	return value;
#endif
}

static inline uint64_t ticks(void)
{
	return likely(clock_kind == 0) ? ticks_raw() : ticks_slow();
}

#endif
