/* What exists once per node: its folder in the run directory, its rings, its control page. */
#include "command.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>
#ifdef __x86_64__
#include <cpuid.h>
#endif

/* The processor's own word on its time stamp counter; most virtual machines and old ones say nothing. */
static uint64_t tsc_frequency(void)
{
#ifdef __x86_64__
	unsigned a, b, c, d;

	if (__get_cpuid_count(0x15, 0, &a, &b, &c, &d) && a && b && c)
		return (uint64_t)c * b / a;
	__cpuid(1, a, b, c, d);
	if (c >> 31) { /* a hypervisor: leaf 0x40000010 is the frequency in kHz, where it exists */
		__cpuid(0x40000000, a, b, c, d);
		if (a >= 0x40000010) {
			__cpuid(0x40000010, a, b, c, d);
			return (uint64_t)a * 1000;
		}
	}
#endif
	return 0;
}

/* Where it says nothing: 0.1 % off is enough for a process that was killed before it read the clock twice, and all
 * others tell better. */
static uint64_t tsc_measured(void)
{
#ifdef __x86_64__
	const struct timespec pause = {0, 1000000};
	struct timespec from, until;
	uint64_t ticks;

	clock_gettime(CLOCK_MONOTONIC, &from);
	ticks = __builtin_ia32_rdtsc();
	nanosleep(&pause, NULL);
	clock_gettime(CLOCK_MONOTONIC, &until);
	ticks = __builtin_ia32_rdtsc() - ticks;
	return (uint64_t)((double)ticks /
			  ((double)(until.tv_sec - from.tv_sec) * 1e9 +
			   (double)(until.tv_nsec - from.tv_nsec)) *
			  1e9);
#else
	return 0;
#endif
}

void node_read(struct node *node)
{
	struct utsname name;

	memset(node, 0, sizeof(*node));
	if (gethostname(node->host, sizeof(node->host) - 1) || !node->host[0])
		snprintf(node->host, sizeof(node->host), "unknown");
	if (!read_line("/proc/sys/kernel/random/boot_id", node->boot_id, sizeof(node->boot_id)))
		snprintf(node->boot_id, sizeof(node->boot_id), "unknown");
	if (uname(&name) == 0)
		snprintf(node->kernel, sizeof(node->kernel), "%s %s", name.sysname, name.release);
	if (!read_line("/sys/devices/system/clocksource/clocksource0/current_clocksource",
		       node->clock, sizeof(node->clock)))
		snprintf(node->clock, sizeof(node->clock), "unknown");
	node->tsc_hz = tsc_frequency();
	if (!read_line("/sys/devices/system/cpu/online", node->processors,
		       sizeof(node->processors)))
		node->processors[0] = '\0';
}

static void make_directory(const char *path, mode_t mode)
{
	if (mkdir(path, mode) && errno != EEXIST)
		fail(EXIT_FATHOM, "cannot make %s: %s", path, strerror(errno));
}

static void copy_mounts(const char *to)
{
	struct text text = {0};
	char block[4096];
	FILE *from;
	size_t got;

	if (access(to, F_OK) == 0)
		return;
	from = fopen("/proc/self/mountinfo", "re");
	if (!from)
		return; /* without /proc there is none; the engine then knows devices by number only */
	while ((got = fread(block, 1, sizeof(block), from)) > 0)
		text_add(&text, "%.*s", (int)got, block);
	fclose(from);
	publish(to, text.at ? text.at : "", text.used);
}

const char *node_directory(const struct run *run)
{
	const char *place = sink_place(run);
	struct node node;

	node_read(&node);
	return format_text("%s/streams/%s-%s", place ? place : run->directory, node.boot_id,
			   node.host);
}

static void node_files(const struct run *run)
{
	const char *directory = node_directory(run);
	const char *path = format_text("%s/node", directory);
	struct node node;
	char *text;

	make_directory(directory, 0777);
	copy_mounts(format_text("%s/mounts", directory));
	if (access(path, F_OK) == 0)
		return;
	node_read(&node);
	if (!node.tsc_hz)
		node.tsc_hz = tsc_measured();
	text = format_text("host=%s\nboot_id=%s\nkernel=%s\nclock=%s\ntsc_hz=%llu\nprocessors=%s\n",
			   node.host, node.boot_id, node.kernel, node.clock,
			   (unsigned long long)node.tsc_hz, node.processors);
	publish(path, text, strlen(text));
}

/* By the run's id, not its name: a run made anew under an old name must not meet old rings.
 * FATHOM_RING is the user's word, unless it came with another run that we are started in. */
const char *ring_directory(const struct run *run)
{
	const char *given = getenv("FATHOM_RING");
	const char *outer = getenv("FATHOM_RUN");

	if (given && *given == '/' && (!outer || strcmp(outer, run->directory) == 0))
		return given;
	return format_text("/dev/shm/fathom.%u.%016llx", (unsigned)getuid(),
			   (unsigned long long)run->id);
}

/* Before a run directory is made: where no rings can lie, nothing is left behind. */
void ring_check(void)
{
	const char *given = getenv("FATHOM_RING");
	char *place = format_text("%s", given && *given == '/' ? given : "/dev/shm/");

	if (getenv("FATHOM_RUN") || access(place, W_OK) == 0)
		return; /* inside another run it is that one's, and there */
	*strrchr(place, '/') = '\0';
	if (access(*place ? place : "/", W_OK))
		fail(EXIT_FATHOM,
		     "cannot make rings in %s: %s; name a folder of another place in FATHOM_RING",
		     place, strerror(errno));
}

/* /dev/shm is everybody's: a directory that somebody else put there is refused. */
static void ring_create(const char *ring)
{
	struct stat st;

	make_directory(ring, 0700);
	if (lstat(ring, &st))
		fail(EXIT_FATHOM, "cannot use %s: %s", ring, strerror(errno));
	if (!S_ISDIR(st.st_mode) || st.st_uid != getuid())
		fail(EXIT_FATHOM, "%s belongs to somebody else; name another place in FATHOM_RING",
		     ring);
}

static void put(unsigned char *page, size_t at, uint64_t value, size_t size)
{
	for (size_t i = 0; i < size; i++)
		page[at + i] = (unsigned char)(value >> (8 * i));
}

/* docs/control-page.md. Bit 31: Fathom's own cost is recorded while anything is. */
static void control_create(const struct run *run)
{
	const struct options *options = &run->options;
	const bool gate = options->level && !options->select;
	enum { RUN_AT = 1024 };
	unsigned char page[4096] = "FATHOMCP";
	uint64_t layers = options->recorded | 1u << 31 | (uint64_t)options->counted << 34;

	put(page, 8, 1, 4);
	put(page, 12, sizeof(page), 4);
	put(page, 16, gate ? layers | (uint64_t)options->level << 32 : 0, 8);
	put(page, 24, 1, 8);
	put(page, 32, options->budget, 8);
	put(page, 40, options->select != NULL, 8);
	strncpy((char *)page + RUN_AT, run->directory, sizeof(page) - RUN_AT - 1);
	publish(format_text("%s/control", run->ring), page, sizeof(page));
}

void node_create(struct run *run)
{
	make_directory(format_text("%s/streams", run->directory), 0777);
	ring_create(run->ring);
	if (sink_place(run)) {
		make_directory(sink_place(run), 0700);
		make_directory(format_text("%s/streams", sink_place(run)), 0700);
	}
	node_files(run);
	selection_publish(run);
	tuned_publish(run);
	control_create(run);
}

/* Of the files that we made, none is a ring. */
static bool is_ours(const char *name)
{
	return strncmp(name, "control", 7) == 0 || strncmp(name, "select", 6) == 0 ||
	       strncmp(name, "tuned.", 6) == 0;
}

/* Why a process that ended in order could not write all; 0: it did, or was killed. */
static int write_error(int directory, const char *name)
{
	enum { ENDED = 28 };
	const int fd = openat(directory, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	uint32_t ended = 0;

	if (fd >= 0 && pread(fd, &ended, sizeof(ended), ENDED) != sizeof(ended))
		ended = 0;
	if (fd >= 0)
		close(fd);
	return (int)(ended >> 8);
}

void ring_say_unwritten(const struct run *run)
{
	DIR *directory = opendir(run->ring);
	unsigned count = 0;
	int reason = 0;
	const struct dirent *entry;

	while (directory && (entry = readdir(directory))) {
		const char *end = strrchr(entry->d_name, '.');
		const int error = end && strcmp(end, ".ring") == 0
					  ? write_error(dirfd(directory), entry->d_name)
					  : 0;

		count += error != 0;
		reason = error ? error : reason;
	}
	if (directory)
		closedir(directory);
	if (count)
		warn("%s: %s: calls of %u of its processes are in this node's memory "
		     "alone; make room, then: fathom pack --recover %s",
		     run->directory, strerror(reason), count, run->directory);
}

/* A clean end leaves only our own files; rings of killed processes stay for the first reader. */
void ring_remove_if_done(const char *ring)
{
	DIR *directory = opendir(ring);
	struct dirent *entry;
	bool done = true;

	if (!directory)
		return;
	while ((entry = readdir(directory)))
		done &= *entry->d_name == '.' || is_ours(entry->d_name);
	rewinddir(directory);
	while (done && (entry = readdir(directory)))
		if (is_ours(entry->d_name))
			unlinkat(dirfd(directory), entry->d_name, 0);
	closedir(directory);
	if (done)
		rmdir(ring);
}
