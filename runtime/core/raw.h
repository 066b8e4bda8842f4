/* System calls made by Fathom itself: never through libc, so errno is never touched, other tools'
 * wrappers are not entered, and a call stack shows libfathom as the caller. Each may fail: a program may be
 * watched by who injects errors, and where it limits its own calls (core/quiet.c) ours are not made at all. */
#ifndef FATHOM_RAW_H
#define FATHOM_RAW_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>

#if defined(__x86_64__)
static inline long raw_now(long n, long a, long b, long c, long d, long e, long f)
{
	long result;
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(n), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return result;
}
#elif defined(__aarch64__)
static inline long raw_now(long n, long a, long b, long c, long d, long e, long f)
{
	register long x8 __asm__("x8") = n;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;
	register long x4 __asm__("x4") = e;
	register long x5 __asm__("x5") = f;

	__asm__ volatile("svc 0"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
			 : "memory");
	return x0;
}
#else
#error "no system-call sequence for this architecture yet"
#endif

/* Closed for good, or until raw_open: each call fails with EPERM. Returns when none is on its way any more. */
void raw_close(void);
void raw_open(void);
bool raw_closed(void);
/* From enter to leave the calling thread makes its calls by raw_now, whatever is closed meanwhile; from allow to
 * deny by all of these. Signals are blocked: nothing else of the thread runs. False: closed already. */
bool raw_enter(void);
void raw_leave(void);
void raw_allow(void);
void raw_deny(void);
/* Which thread this is, without asking the kernel. */
void *raw_thread(void);
/* Who is inside, in memory that a fork wipes. */
struct raw_users {
	_Atomic uint32_t inside;
	void *_Atomic allowed;
};
void raw_users_in(struct raw_users *users);

long raw6(long n, long a, long b, long c, long d, long e, long f);

static inline long raw3(long n, long a, long b, long c)
{
	return raw6(n, a, b, c, 0, 0, 0);
}

static inline long raw4(long n, long a, long b, long c, long d)
{
	return raw6(n, a, b, c, d, 0, 0);
}

/* What one read of a file gives, in bytes; below zero: it cannot be opened or read. */
long raw_read_file(const char *path, void *out, size_t size);

/* Waits for a millisecond. Not by nanosleep: where a thread was borrowed from a nanosleep of the program's, the kernel
 * would forget how that goes on. */
static inline void raw_wait(void)
{
	const int64_t moment[2] = {0, 1000000};

	raw6(SYS_pselect6, 0, 0, 0, 0, (long)moment, 0);
}

#endif
