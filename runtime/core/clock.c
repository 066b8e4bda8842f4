/* Clocks: raw ticks where they are sound, and the triples that tie them to the system's clocks. */
#include "core/chunk.h"
#include "core/clock.h"
#include "core/state.h"
#include "core/thread.h"

#include <string.h>
#include <sys/auxv.h>
#include <time.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "core/raw.h"

uint8_t clock_kind;

enum { STANDS = 3 };

/* Of a program that limits its system calls. */
static struct {
	bool user_space; /* the kernel's clock is read without a system call */
	bool on;         /* else this moment is all that is known */
	uint8_t kind;    /* before it stood still */
	struct clock_triple moment;
	_Atomic uint64_t readings;
} frozen;

/* Tests shift and stretch time: FATHOM_CLOCK=fake:skew=NS,drift=PPM,gap=NS@N. Written by clock_begin,
 * `readings` by every reading. */
static struct {
	int64_t skew;
	int64_t drift; /* parts per million */
	int64_t gap;
	uint64_t gap_after;
	uint64_t base;
	_Atomic uint64_t readings;
} fake;

static uint64_t nanoseconds(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* How far the faked clock is from the real one after `elapsed` real ns. */
static int64_t fake_shift(uint64_t elapsed)
{
	int64_t shift = fake.skew + (int64_t)elapsed / 1000000 * fake.drift;

	if (fake.gap && atomic_load_explicit(&fake.readings, memory_order_relaxed) > fake.gap_after)
		shift += fake.gap;
	return shift;
}

uint64_t ticks_slow(void)
{
	uint64_t now;

	if (clock_kind == STANDS) /* in order, if no more */
		return frozen.moment.ticks + atomic_fetch_add(&frozen.readings, 1);
	now = nanoseconds(CLOCK_MONOTONIC);
	if (clock_kind == 1)
		return now;
	atomic_fetch_add_explicit(&fake.readings, 1, memory_order_relaxed);
	return now + (uint64_t)fake_shift(now - fake.base);
}

struct clock_triple clock_read(void)
{
	struct clock_triple triple;

	if (frozen.on)
		return frozen.moment;
	triple.monotonic = nanoseconds(CLOCK_MONOTONIC);
	triple.ticks = ticks();
	triple.realtime = nanoseconds(CLOCK_REALTIME);
	if (clock_kind == 2) {
		int64_t shift = fake_shift(triple.monotonic - fake.base);

		triple.monotonic += (uint64_t)shift;
		triple.realtime += (uint64_t)shift;
	}
	return triple;
}

uint64_t clock_ns(void)
{
	return frozen.on ? frozen.moment.monotonic : nanoseconds(CLOCK_MONOTONIC);
}

static void capture_moment(bool stop)
{
	if (clock_kind == STANDS)
		return;
	frozen.moment = clock_read();
	frozen.kind = clock_kind;
	atomic_store(&frozen.readings, 1);
	frozen.on = stop || !frozen.user_space;
	if (!stop && (frozen.user_space || !clock_kind))
		return;
	clock_kind = STANDS;
	if (process && process->alive) {
		const uint64_t mask = process_lock();

		threads_slow();
		process_unlock(mask);
	}
}

void clock_keep(void)
{
	capture_moment(false);
}

void clock_stop(void)
{
	capture_moment(true);
}

void clock_go_on(void)
{
	clock_kind = frozen.kind;
	frozen.on = false;
}

uint8_t clock_in_chunks(void)
{
	return clock_kind == STANDS ? frozen.kind : clock_kind;
}

uint64_t clock_ticks_per_second(void)
{
	return clock_in_chunks() == 0 ? 0 : 1000000000u;
}

/* What the kernel tells time by; "" where it does not say. */
static void read_source(char source[8])
{
	memset(source, 0, 8);
	raw_read_file("/sys/devices/system/clocksource/clocksource0/current_clocksource", source,
		      7);
}

/* The counter runs at one rate on all cores, and the kernel trusts it. */
static bool ticks_are_sound(const char *source)
{
#if defined(__x86_64__)
	unsigned a, b, c, d;

	if (!__get_cpuid(0x80000007u, &a, &b, &c, &d) || !(d & (1u << 8)))
		return false;
	return strncmp(source, "tsc", 3) == 0;
#else
	(void)source;
	return true;
#endif
}

/* Sources that libc reads without a system call, if the kernel maps it the code for that. */
static bool is_in_user_space(const char *source)
{
	static const char *const known[] = {"tsc", "kvm-clo", "hyperv_", "arch_sy"};
	bool is = false;

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		is |= strncmp(source, known[i], strlen(known[i])) == 0;
	return is && getauxval(AT_SYSINFO_EHDR);
}

static int64_t number_after(const char *setting, const char *key)
{
	const char *at = strstr(setting, key);
	int64_t value = 0;
	int sign = 1;

	if (!at)
		return 0;
	at += strlen(key);
	if (*at == '-') {
		sign = -1;
		at++;
	}
	for (; *at >= '0' && *at <= '9'; at++)
		value = value * 10 + (*at - '0');
	return sign * value;
}

void clock_begin(const char *setting)
{
	char source[8];

	read_source(source);
	frozen.user_space = is_in_user_space(source);
	if (setting && strncmp(setting, "fake:", 5) == 0) {
		fake.skew = number_after(setting, "skew=");
		fake.drift = number_after(setting, "drift=");
		fake.gap = number_after(setting, "gap=");
		fake.gap_after = (uint64_t)number_after(setting, "@");
		fake.base = nanoseconds(CLOCK_MONOTONIC);
		clock_kind = 2;
	} else if (setting && strcmp(setting, "tsc") == 0) {
		clock_kind = 0;
	} else if (setting && strcmp(setting, "gettime") == 0) {
		clock_kind = 1;
	} else {
		clock_kind = ticks_are_sound(source) ? 0 : 1;
	}
}
