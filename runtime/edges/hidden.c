/* Jumps into functions that were linked into the program. */
#include "edges/hidden.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#include "core/call.h"
#include "core/raw.h"
#include "edges/edges.h"
#include "edges/targets.h"
#include "edges/vector.h"

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

enum { VERSION = 1 };

/* The file, as docs/hidden-format.md has it; addresses are the program's own. */
struct header {
	char magic[8];
	uint32_t version, functions, symbols, groups;
	uint32_t code_room, slots_room, code, strings;
	int64_t place;
};
struct stretch {
	uint64_t begin, bytes;
};
struct function {
	uint64_t at;
	uint32_t name, original; /* from the code's beginning */
	uint8_t before[8], jump[8];
};
struct symbol {
	uint64_t at;
	uint32_t name, unused;
};

/* Written once, while attaching; the slots under the loader's lock. */
static struct {
	const struct header *file; /* NULL: there is none */
	const struct stretch *group;
	const struct function *function;
	const struct symbol *symbol;
	const char *code, *strings;
	uintptr_t base, begin, end; /* of the program; of our code */
	void *_Atomic *slot;
	struct hidden_jumps *jumps;
} hidden;

static bool read_all(long fd, char *to, size_t bytes)
{
	for (size_t done = 0; done < bytes;) {
		long got = raw3(SYS_read, fd, (long)(to + done), (long)(bytes - done));

		if (got <= 0)
			return false;
		done += (size_t)got;
	}
	return true;
}

/* A copy of the file, which may be gone tomorrow. */
static const struct header *copy_of(const char *path, size_t *bytes)
{
	long fd = raw4(SYS_openat, AT_FDCWD, (long)path, O_RDONLY | O_CLOEXEC, 0), size;
	char *copy = NULL;

	if (fd < 0)
		return NULL;
	size = raw3(SYS_lseek, fd, 0, SEEK_END);
	raw3(SYS_lseek, fd, 0, SEEK_SET);
	if (size >= (long)sizeof(struct header))
		copy = pages_get((size_t)size);
	if (copy && !read_all(fd, copy, (size_t)size)) {
		raw3(SYS_munmap, (long)copy, size, 0);
		copy = NULL;
	}
	raw3(SYS_close, fd, 0, 0);
	*bytes = (size_t)size;
	return (const struct header *)copy;
}

/* Where each part lies; false: this is not the file. */
static bool find_parts(const struct header *h, size_t bytes)
{
	hidden.group = (const struct stretch *)(h + 1);
	hidden.function = (const struct function *)(hidden.group + h->groups);
	hidden.symbol = (const struct symbol *)(hidden.function + h->functions);
	hidden.code = (const char *)(hidden.symbol + h->symbols);
	hidden.strings = hidden.code + h->code;
	return memcmp(h->magic, "FATHOMHX", 8) == 0 && h->version == VERSION &&
	       hidden.strings + h->strings == (const char *)h + bytes && h->code <= h->code_room;
}

/* Code that nobody writes to any more, and behind it the slots. Never unmapped: a thread may be in there. */
static bool take_place(const struct header *h)
{
	const long at = (long)(hidden.base + (uintptr_t)h->place);
	const long room = (long)h->code_room + h->slots_room;

	if (raw6(SYS_mmap, at, room, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) != at)
		return false;
	memcpy((void *)at, hidden.code, h->code);
	hidden.begin = (uintptr_t)at;
	hidden.end = hidden.begin + h->code_room;
	return raw3(SYS_mprotect, at, h->code_room, PROT_READ | PROT_EXEC) == 0;
}

/* Who calls from these goes on as if nothing were: the libraries themselves, and us. */
static void tell_ranges(const struct header *h, const struct elf *self)
{
	struct stretch *range = (struct stretch *)hidden.end;

	for (uint32_t i = 0; i < h->groups; i++)
		range[i] = (struct stretch){hidden.base + hidden.group[i].begin,
					    hidden.group[i].bytes};
	range[h->groups] = (struct stretch){self->start, self->end - self->start};
	hidden.slot = (void *_Atomic *)&range[h->groups + 1];
}

static void *original_of(uint32_t i)
{
	return (void *)(hidden.begin + hidden.function[i].original);
}

static struct hidden_jumps *list_jumps(const struct header *h)
{
	struct hidden_jumps *list =
		pages_get(sizeof(*list) + h->functions * sizeof(struct hidden_jump));

	for (uint32_t i = 0; list && i < h->functions; i++) {
		struct hidden_jump *jump = &list->jump[list->count++];

		jump->at = hidden.base + hidden.function[i].at;
		memcpy(jump->before, hidden.function[i].before, 8);
		memcpy(jump->jump, hidden.function[i].jump, 8);
	}
	return list;
}

struct reading {
	const struct header *file;
	bool done;
};

static void begin(void *argument)
{
	struct reading *r = argument;
	const struct module *self = module_at((uintptr_t)&hidden);

	hidden.base = module_number(0)->elf.base;
	if (!self || !take_place(r->file))
		return;
	tell_ranges(r->file, &self->elf);
	for (uint32_t i = 0; i < r->file->functions; i++)
		atomic_store(&hidden.slot[i], original_of(i));
	hidden.jumps = list_jumps(r->file);
	r->done = true;
}

void hidden_read(const char *path)
{
	struct reading r = {0};
	size_t bytes = 0;

	if (!path || hidden.file)
		return;
	r.file = copy_of(path, &bytes);
	if (r.file && find_parts(r.file, bytes))
		modules_locked(begin, &r);
	if (r.done)
		hidden.file = r.file;
	else
		note("edges: functions that were linked into the program are not seen: no room "
		     "below it");
}

void hidden_patch(void)
{
	for (uint32_t i = 0; hidden.file && i < hidden.file->functions; i++) {
		const struct target *t = target_of(hidden.strings + hidden.function[i].name);
		void *wrapper = t ? target_choose(module_number(0), t, original_of(i)) : NULL;

		atomic_store(&hidden.slot[i], wrapper ? wrapper : original_of(i));
	}
}

void hidden_unpatch(void)
{
	for (uint32_t i = 0; hidden.file && i < hidden.file->functions; i++)
		atomic_store(&hidden.slot[i], original_of(i));
}

const struct hidden_jumps *hidden_jumps(void)
{
	return hidden.file ? hidden.jumps : NULL;
}

bool hidden_is_code(uintptr_t address)
{
	return address >= hidden.begin && address < hidden.end;
}

bool hidden_is_function(const void *address)
{
	for (uint32_t i = 0; hidden.file && i < hidden.file->functions; i++)
		if (hidden.base + hidden.function[i].at == (uintptr_t)address)
			return true;
	return false;
}

void *hidden_find(const char *name)
{
	uint32_t low = 0, high = hidden.file ? hidden.file->symbols : 0;

	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;
		const struct symbol *s = &hidden.symbol[middle];
		const int order = strcmp(hidden.strings + s->name, name);

		if (!order)
			return (void *)(hidden.base + s->at);
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

void *edge_hidden(const char *name)
{
	return hidden_find(name);
}
