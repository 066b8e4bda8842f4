/* Faked clocks are off by exactly what the setting says; the real ones are the system's. */
#include <string.h>
#include <time.h>

#include "check.h"
#include "core/chunk.h"
#include "core/clock.h"

static int64_t now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* How far ahead the ticks are: between the two bounds that the readings around it give. */
static void ahead(int64_t least, int64_t most)
{
	int64_t before = now(CLOCK_MONOTONIC), value = (int64_t)ticks(),
		after = now(CLOCK_MONOTONIC);

	CHECK(value - before >= least && value - after <= most);
}

static void fake_settings(void)
{
	clock_begin("fake:skew=7000,drift=0,gap=3000000000@2");
	ahead(7000, 7000);
	ahead(7000, 7000);
	ahead(3000007000, 3000007000);    /* the third reading */
	clock_begin("fake:drift=500000"); /* half as fast again */
	ahead(0, 1000000);
	nanosleep(&(struct timespec){0, 40000000}, NULL);
	ahead(19000000, 400000000);
}

/* The triple's parts are shifted alike, so that they still tie the ticks to the time of day. */
static void triples(const char *setting)
{
	struct clock_triple first, second;
	int64_t real;

	clock_begin(setting);
	first = clock_read();
	real = now(CLOCK_REALTIME) - now(CLOCK_MONOTONIC);
	second = clock_read();
	CHECK(first.ticks >= first.monotonic && second.ticks > first.ticks);
	CHECK(second.monotonic > first.monotonic && second.realtime > first.realtime);
	real -= (int64_t)(first.realtime - first.monotonic);
	CHECK(real > -20000000 && real < 20000000);
}

int main(void)
{
	fake_settings();
	triples("fake:skew=123456789");
	triples("gettime");
	CHECK(clock_kind == 1);
	ahead(0, 0);
	clock_begin("tsc");
	CHECK(clock_kind == 0 && clock_ticks_per_second() == 0);
	CHECK(ticks() <= ticks());
	clock_begin(NULL);
	CHECK(clock_kind < 2);
	clock_begin("fake:");
	ahead(0, 0);
	return 0;
}
