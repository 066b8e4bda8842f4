/* Where Fathom enters and leaves a static program: before its constructors, in .preinit_array. */
#include <elf.h>
#include <link.h>
#include <pthread.h>
#include <stdlib.h>

#include "core/process.h"
#include "edges/edges.h"
#include "linked/linked.h"
#include "user/user.h"

__thread struct entry_site entry_site;

int fathom_linked; /* slots name it, so that this object comes into the program */

/* `fathom run` looks for it: this program records by itself. */
__attribute__((section(".note.fathom"), used, aligned(4))) static const struct {
	uint32_t name_bytes, bytes, type;
	char name[8];
	uint32_t version;
} linked_note = {7, 4, 2, "Fathom", 1};

extern int __cxa_atexit(void (*function)(void *), void *argument, void *library);
extern const ElfW(Ehdr) __ehdr_start __attribute__((visibility("hidden")));
extern const char _end[] __attribute__((visibility("hidden")));

static void end(void *argument)
{
	(void)argument;
	process_end();
}

/* The regions of fathom.h. */
static void find_regions(void)
{
	const struct elf program = {
		.base = linked_program.l_addr,
		.start = (uintptr_t)&__ehdr_start,
		.end = (uintptr_t)_end,
		.headers = (const void *)((const char *)&__ehdr_start + __ehdr_start.e_phoff),
		.headers_count = __ehdr_start.e_phnum,
	};

	user_slots(&program);
}

static void start(void)
{
	if (!process_begin())
		return;
	__cxa_atexit(end, NULL, NULL); /* the first registered is the last to run */
	at_quick_exit(process_end);
	if (process_layers() >> LAYER_USER & 1)
		find_regions();
	slots_point(process_layers());
	process_started();
}

__attribute__((section(".preinit_array"), used)) static void (*const at_start)(void) = start;
