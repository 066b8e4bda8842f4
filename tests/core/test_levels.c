/* The compiled selection: read as its page says, torn ones refused; ranks, files and levels against plain rules. */
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "core/state.h"
#include "core/levels.h"
#include "core/levels_read.h"
#include "core/process.h"

static const char good[] = "fathom-selection 1\n"
			   "says [job] [call] layers = [\"posix\"]\n"
			   "table job\n"
			   "table call\n"
			   "layers 5 8\n"
			   "operations 2\n"
			   "time 10 9223372036854775807\n"
			   "program s3d*\n"
			   "program flash\n"
			   "ranks 0-63:8\n"
			   "file *.rst\n"
			   "file !*/tmp/*\n"
			   "region check*\n"
			   "code 1130 1135 8d9286d9\n"
			   "code 1140 13ab =/opt/a b\n";

static struct levels levels;
static char path[256];

static bool reads(const char *text, size_t bytes)
{
	memset(&levels, 0, sizeof(levels));
	memcpy(levels.text, text, bytes);
	levels.bytes = (uint32_t)bytes;
	return levels_read(&levels);
}

static void check_good(void)
{
	const struct table *call = &levels.table[2];

	CHECK(reads(good, sizeof(good) - 1));
	CHECK(levels.table[0].there && !levels.table[1].there && call->there);
	CHECK(call->layers == 5 && call->counted == 8 && call->operations == 2);
	CHECK(call->from == 10 && call->until == INT64_MAX);
	CHECK(levels.code_ranges == 2 && levels.code_range[1].begin == 0x1140);
	CHECK(levels_code(&levels, "\x8d\x92\x86\xd9", 4, "", 0x1131) == 4);
	CHECK(levels_code(&levels, "\x8d\x92\x86\xd9", 4, "", 0x1130) == 0);
	CHECK(levels_code(&levels, "\x8d\x92\x86\xd9", 4, "", 0x1135) == 4);
	CHECK(levels_code(&levels, "\x8d\x92\x86\xd9", 4, "", 0x1136) == 0);
	CHECK(levels_code(&levels, "", 0, "/opt/a b", 0x13ab) == 4);
	CHECK(levels_code(&levels, "", 0, "/opt/a", 0x13ab) == 0);
	CHECK(levels_region(&levels, "checkpoint") == 4 && levels_region(&levels, "step") == 0);
	CHECK(levels_leave_out(&levels, "/a/b.rst") == 0);
	CHECK(levels_leave_out(&levels, "/tmp/tmp/b.rst") == 4);
	CHECK(levels_leave_out(&levels, "/a/b.log") == 4);
}

static void check_refused(void)
{
	static const char *const bad[] = {
		"",
		"fathom-selection 1\n",
		"fathom-selection 3\nsays x\n",
		"fathom-selection 1\nsays x",
		"fathom-selection 1\nsays x\nlayers 1 1\n",
		"fathom-selection 1\nsays x\ntable cal\n",
		"fathom-selection 1\nsays x\ntable job\ntable job\n",
		"fathom-selection 1\nsays x\ntable job\nlayers 1\n",
		"fathom-selection 1\nsays x\ntable job\nlayers g 1\n",
		"fathom-selection 1\nsays x\ntable job\noperations 4\n",
		"fathom-selection 1\nsays x\ntable job\ntime 5 5\n",
		"fathom-selection 1\nsays x\ntable job\nfile a\nregion b\nfile c\n",
		"fathom-selection 1\nsays x\ntable job\ncode 1 2 \n",
		"fathom-selection 1\nsays x\ntable job\nfuture 1\n",
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		CHECK(!reads(bad[i], strlen(bad[i])));
}

/* What is taken of any bytes at all lies within them. */
static void check_taken(size_t bytes)
{
	for (uint32_t i = 0; i < TABLES; i++) {
		const struct lines *lines = &levels.table[i].programs;

		for (int key = 0; key < 5; key++, lines++)
			CHECK(lines->begin <= lines->end && lines->end <= bytes);
	}
	CHECK(levels.code_ranges <= CODE_RANGES);
	for (uint32_t i = 0; i < levels.code_ranges; i++)
		CHECK(levels.code_range[i].module < bytes);
	levels_leave_out(&levels, "/some/path");
	levels_region(&levels, "region");
	levels_code(&levels, "\x8d\x92\x86\xd9", 4, "/opt/a b", 0x1131);
}

static void check_damaged(uint64_t *seed)
{
	static const char alphabet[] = "0159afgstable \n*!:=-\xff";
	char text[sizeof(good)];
	int taken = 0;

	for (int round = 0; round < 200000; round++) {
		size_t bytes = sizeof(good) - 1;

		memcpy(text, good, sizeof(good));
		for (uint64_t n = random_below(seed, 4) + 1; n--;)
			text[random_below(seed, bytes)] =
				alphabet[random_below(seed, sizeof(alphabet))];
		if (!random_below(seed, 3))
			bytes = random_below(seed, bytes);
		if (!reads(text, bytes))
			continue;
		check_taken(bytes);
		taken++;
	}
	CHECK(taken > 1000);
}

/* ---- in a process ---- */

static void put_in_force(const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);

	CHECK(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	close(fd);
	atomic_fetch_add(&control->generation, 1);
}

static bool plainly_in(uint32_t rank, uint64_t first, uint64_t last, uint64_t step)
{
	for (uint64_t r = first; r <= last; r += step)
		if (r == rank)
			return true;
	return false;
}

static void check_ranks(uint64_t *seed)
{
	char text[200];

	for (int round = 0; round < 3000; round++) {
		uint64_t first = random_below(seed, 40), last = first + random_below(seed, 40);
		uint64_t step = random_below(seed, 9) + 1, other = random_below(seed, 80);
		uint32_t rank = (uint32_t)random_below(seed, 80);
		bool expected = rank == other || plainly_in(rank, first, last, step);

		snprintf(text, sizeof(text),
			 "fathom-selection 1\nsays x\ntable call\nranks %lu-%lu:%lu\nranks %lu\n",
			 first, last, step, other);
		config.rank = rank + 1;
		put_in_force(text);
		CHECK(levels_now()->in_play == (expected ? 4u : 0));
	}
	config.rank = 0;
	put_in_force(text);
	CHECK(levels_now()->in_play == 0);
	config.rank = 8;
	config.first_on_node = true;
	put_in_force("fathom-selection 1\nsays x\ntable job\nranks first-on-node\n");
	CHECK(levels_now()->in_play == 1);
}

/* Lines that an agent keeps name processes. */
static void check_critical(void)
{
	char text[200];

	put_in_force(
		"fathom-selection 2\nsays x\ntable file\ntable call\nlayers 1 0\ncritical none\n");
	CHECK(levels_now()->in_play == 2 && !(gate_now() & 1));
	snprintf(text, sizeof(text),
		 "fathom-selection 2\nsays x\ntable file\ntable call\nlayers 1 0\ncritical "
		 "1\ncritical %u\n",
		 (unsigned)getpid());
	put_in_force(text);
	CHECK(levels_now()->in_play == 6 && (gate_now() & (LEVEL_CALL | 1)) == (LEVEL_CALL | 1));
	put_in_force(
		"fathom-selection 2\nsays x\ntable file\ntable call\nlayers 1 0\ncritical 1\n");
	CHECK(levels_now()->in_play == 2 && !(gate_now() & 1));
}

/* What nothing but the layer and the program decides leaves the hot path as it is; one that is torn changes nothing. */
static void check_gate(void)
{
	put_in_force("fathom-selection 1\nsays x\ntable job\ntable call\nlayers 1 0\n");
	levels_now();
	CHECK((gate_now() & (LEVEL_CALL | 1)) == (LEVEL_CALL | 1));
	put_in_force("fathom-selection 1\nsays x\ntable call\nlayers 1 0\nprogram nobody*\n");
	CHECK(levels_now()->layers == 0 && gate_now() == 0);
	put_in_force("fathom-selection 1\nsays x\ntable call\nlayers 1 0\noperations 1\n");
	CHECK(levels_now()->layers == 1 && !(gate_now() & 1));
	put_in_force("fathom-selection 1\nsays y\ntab");
	CHECK(levels_now()->layers == 1 && levels_now()->in_play == 4);
	put_in_force("fathom-selection 1\nsays x\n");
	CHECK(levels_now()->layers == 0);
}

static void check_window(void)
{
	char text[200];
	uint64_t now = clock_ns() - config.start_ns;

	snprintf(text, sizeof(text),
		 "fathom-selection 1\nsays x\ntable call\nlayers 1 0\ntime %lu %lu\n",
		 now + 50000000, now + 100000000);
	put_in_force(text);
	CHECK(levels_now()->in_play == 0 && levels_now()->layers == 1);
	usleep(60000);
	CHECK(levels_now()->in_play == 4 || clock_ns() - config.start_ns >= now + 100000000);
	usleep(60000);
	CHECK(levels_now()->in_play == 0 && levels_now()->layers == 0);
	CHECK(levels_now()->next_edge == UINT64_MAX);
}

int main(void)
{
	char directory[64] = "/tmp/fathom-levels.XXXXXX";
	uint64_t seed = 20161;

	CHECK(mkdtemp(directory) != NULL);
	snprintf(path, sizeof(path), "%s/selection", directory);
	check_good();
	check_refused();
	check_damaged(&seed);
	setenv("FATHOM_SELECT", path, 1);
	put_in_force("fathom-selection 1\nsays x\n");
	run_begin("call", "gettime");
	check_ranks(&seed);
	check_gate();
	check_critical();
	check_window();
	unlink(path);
	rmdir(directory);
	return 0;
}
