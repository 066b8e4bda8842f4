/* The processors of a process, what its threads got of them and of storage, and its memory. Each question is a few system
 * calls of ours; where the kernel does not answer (no /proc, not permitted, not built in) it is not known. */
#include <stdbool.h>
#include <string.h>

#include "core/base.h"
#include "core/processors.h"
#include "core/raw.h"
#include "core/state.h"
#include "core/text.h"

/* What is in a file, with a zero behind it; false: it cannot be read. */
static bool read_text(const char *path, char *text, size_t size)
{
	const long got = raw_read_file(path, text, size - 1);

	text[got > 0 ? got : 0] = '\0';
	return got > 0;
}

/* What /proc has of one thread in a file of this name; 0: of the main one. The process's own has the main thread's
 * numbers, not their sum. */
static bool read_of_thread(uint32_t tid, const char *name, char *text, size_t size)
{
	char path[64];

	text_copy(path, sizeof(path), "/proc/self/task/");
	text_decimal(path + strlen(path), tid ? tid : process->pid);
	text_copy(path + strlen(path), sizeof(path) - strlen(path), name);
	return read_text(path, text, size);
}

/* Words are ns on a processor, ns in a run queue, turns. A thread that asks had a turn: none is a kernel that does not
 * count. */
static void ask_processors(uint32_t tid, struct processor_use *use)
{
	char text[80];
	const char *at = text;
	uint64_t ran, waited;

	if (!read_of_thread(tid, "/schedstat", text, sizeof(text)))
		return;
	ran = text_number(&at);
	waited = text_number(&at);
	if (!text_number(&at))
		return;
	use->ran = ran + 1;
	use->waited = waited;
}

static void ask_storage(uint32_t tid, uint64_t *read)
{
	static const char name[] = "read_bytes:";
	char text[256];
	const char *at;

	if (!read_of_thread(tid, "/io", text, sizeof(text)) || !(at = strstr(text, name)))
		return;
	at += sizeof(name) - 1;
	*read = text_number(&at) + 1;
}

struct thread_use thread_use(uint32_t tid)
{
	struct thread_use use = {0};

	ask_processors(tid, &use.processors);
	ask_storage(tid, &use.read);
	return use;
}

/* getrusage would give the most of the images before an exec too. */
uint64_t memory_peak(char *text, size_t size)
{
	static const char name[] = "VmHWM:";
	const char *at;

	if (!read_text("/proc/self/status", text, size) || !(at = strstr(text, name)))
		return 0;
	at += sizeof(name) - 1;
	at += strspn(at, "\t ");
	return text_number(&at) * 1024;
}

size_t processors_allowed(uint32_t pid, uint8_t *mask, size_t size)
{
	long bytes = raw3(SYS_sched_getaffinity, pid, (long)size, (long)mask);

	while (bytes > 0 && !mask[bytes - 1])
		bytes--;
	return bytes > 0 ? (size_t)bytes : 0;
}

/* ---- cgroups ---- */

/* Is this word between commas? */
static bool has_word(const char *words, const char *end, const char *word)
{
	const size_t length = strlen(word);

	for (const char *at = words; at < end; at++)
		if ((at == words || at[-1] == ',') && (size_t)(end - at) >= length &&
		    memcmp(at, word, length) == 0 && (at + length == end || at[length] == ','))
			return true;
	return false;
}

/* Lines are `number:controllers:path`; the one of version 2 has no controllers. */
char *quota_group(char *cgroups, bool *v1)
{
	char *path_of_group = NULL;

	*v1 = false;
	for (char *line = cgroups, *next; line && !*v1; line = next) {
		char *end = strchr(line, '\n'), *names, *path;

		next = end ? end + 1 : NULL;
		if (end)
			*end = '\0';
		names = strchr(line, ':');
		path = names ? strchr(names + 1, ':') : NULL;
		if (!path)
			continue;
		*v1 = has_word(names + 1, path, "cpu");
		if (*v1 || path == names + 1)
			path_of_group = path + 1;
	}
	return path_of_group;
}

uint32_t quota_processors(const char *text)
{
	const uint64_t quota = text_number(&text), period = text_number(&text);
	const uint64_t processors = period ? quota / period + (quota % period != 0) : 0;

	return processors < UINT32_MAX ? (uint32_t)processors : 0;
}

/* Of the group whose folder is in process->path; false: that says nothing. */
static bool read_quota(bool v1, uint32_t *least)
{
	const size_t length = strlen(process->path);
	char text[64] = "";
	uint32_t processors;
	bool has_limits;

	join_path(process->path, process->path, v1 ? "/cpu.cfs_quota_us" : "/cpu.max", "");
	has_limits = read_text(process->path, text, sizeof(text) / 2);
	process->path[length] = '\0';
	if (has_limits && v1 && *text != '-') {
		text[strcspn(text, "\n")] = ' ';
		join_path(process->path, process->path, "/cpu.cfs_period_us", "");
		read_text(process->path, text + strlen(text), sizeof(text) / 2);
		process->path[length] = '\0';
	}
	processors = quota_processors(text);
	if (processors && (!*least || processors < *least))
		*least = processors;
	return has_limits;
}

/* From the root, which in a container is its own group, down: a group below one without limits has none either. */
static uint32_t least_quota(char *group, bool v1)
{
	bool has_limits = true;
	uint32_t least = 0;

	text_copy(process->path, PATH_BYTES, v1 ? "/sys/fs/cgroup/cpu" : "/sys/fs/cgroup");
	read_quota(v1, &least);
	while (has_limits && strlen(process->path) < PATH_BYTES / 2) {
		char *name = group + strspn(group, "/"), after;

		group = name + strcspn(name, "/");
		if (group == name || *name == '.')
			break; /* "..": above what can be seen here */
		after = *group;
		*group = '\0';
		join_path(process->path, process->path, "/", name);
		*group = after;
		has_limits = read_quota(v1, &least);
	}
	return least;
}

/* Written by the first process image that asks, with its lock held; survives forks. */
static struct {
	bool is_known;
	uint32_t processors;
} quota;

uint32_t processors_quota(char *text, size_t size)
{
	char *group;
	bool v1;

	if (quota.is_known)
		return quota.processors;
	quota.is_known = true;
	if (!read_text("/proc/self/cgroup", text, size))
		return 0;
	group = quota_group(text, &v1);
	quota.processors = group ? least_quota(group, v1) : 0;
	return quota.processors;
}
