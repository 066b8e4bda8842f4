/* Clocks: raw ticks where they are sound, and the triples that tie them to the system's clocks. */
#include "core/core.h"

#include <fcntl.h>
#include <string.h>
#include <time.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "core/raw.h"

uint8_t clock_kind;

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
	uint64_t now = nanoseconds(CLOCK_MONOTONIC);

	if (clock_kind == 1)
		return now;
	atomic_fetch_add_explicit(&fake.readings, 1, memory_order_relaxed);
	return now + (uint64_t)fake_shift(now - fake.base);
}

struct clock_triple clock_read(void)
{
	struct clock_triple triple;

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
	return nanoseconds(CLOCK_MONOTONIC);
}

uint64_t clock_ticks_per_second(void)
{
	return clock_kind == 0 ? 0 : 1000000000u;
}

/* The counter runs at one rate on all cores, and the kernel trusts it. */
static bool ticks_are_sound(void)
{
#if defined(__x86_64__)
	unsigned a, b, c, d;
	char source[8] = "";
	long fd;

	if (!__get_cpuid(0x80000007u, &a, &b, &c, &d) || !(d & (1u << 8)))
		return false;
	fd = raw3(SYS_openat, AT_FDCWD,
		  (long)"/sys/devices/system/clocksource/clocksource0/current_clocksource",
		  O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	raw3(SYS_read, fd, (long)source, sizeof(source) - 1);
	raw3(SYS_close, fd, 0, 0);
	return strncmp(source, "tsc", 3) == 0;
#else
	return true;
#endif
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
		clock_kind = ticks_are_sound() ? 0 : 1;
	}
}
