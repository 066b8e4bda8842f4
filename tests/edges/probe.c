/* Stands in for runtime/core in the edge tests: writes at the end of the process what was patched
 * and called. Goes to the file EDGES_OUT names, one line each:
 *	call NAME COPY LIBRARY COUNT	a wrapper that was called; inner:NAME of an API that looks inside
 *	slot MODULE NAME LIBRARY+OFFSET	every catalogd slot and the original behind it
 *	event TEXT			what the process hooks told
 * Lines are written with one raw write each, so forked children may share the file. */
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/call.h"
#include "core/process.h"
#include "core/raw.h"
#include "edges/edges.h"
#include "edges/gate.h"
#include "edges/modules.h"
#include "tune/tune.h"

extern uint64_t counts[];
extern const uint32_t wrappers_count;

static struct {
	long fd;
	char path[512];
	bool slots;
} probe;

static void say(const char *format, ...)
{
	char line[1024];
	va_list list;
	int n;

	va_start(list, format);
	n = vsnprintf(line, sizeof(line), format, list);
	va_end(list);
	raw3(SYS_write, probe.fd, (long)line, n);
}

void note(const char *format, ...)
{
	char line[900];
	va_list list;

	va_start(list, format);
	vsnprintf(line, sizeof(line), format, list);
	va_end(list);
	say("note %s\n", line);
}

void descriptor_ask(descriptor_teller *who)
{
	(void)who; /* no descriptors here */
}

bool process_begin(void)
{
	const char *path = getenv("EDGES_OUT");

	if (!path)
		return false;
	snprintf(probe.path, sizeof(probe.path), "%s", path);
	probe.slots = getenv("EDGES_SLOTS");
	probe.fd = raw4(SYS_openat, AT_FDCWD, (long)path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC,
			0644);
	probe.fd = raw3(SYS_fcntl, probe.fd, F_DUPFD_CLOEXEC, 700);
	say("event begin\n");
	return true;
}

void process_started(void)
{
}

void process_jumps(const void *stack)
{
	(void)stack;
}

void process_patched(uint64_t began)
{
	(void)began;
}

void package_loaded(const char *module)
{
	(void)module;
}

uint64_t ticks_now(void)
{
	return 0;
}

uint32_t process_layers(void)
{
	return 31; /* one for each API of make_tables.py */
}

const char *process_tuned(void)
{
	return NULL;
}

void tune_begin(const char *path)
{
	(void)path;
}

void user_slots(const struct elf *m)
{
	(void)m;
}

bool user_probes(const struct elf *m)
{
	(void)m;
	return false;
}

void *user_symbol(const char *name)
{
	(void)name;
	return NULL;
}

static const char *short_name(const struct module *m)
{
	const char *slash;

	if (!m || (!m->at_start && !modules_known()))
		return "?";
	slash = strrchr(m->map->l_name, '/');
	return !*m->map->l_name ? "program" : slash ? slash + 1 : m->map->l_name;
}

static const struct edge_symbol *symbol_of(uint32_t wrapper)
{
	for (uint32_t i = 0; i < edge_symbols_count; i++)
		if (wrapper - edge_symbols[i].wrapper < edge_symbols[i].copies)
			return &edge_symbols[i];
	return NULL;
}

static void say_slot(const struct module *m, const ElfW(Rela) * r)
{
	const ElfW(Sym) *s = &m->elf.symbols[ELF64_R_SYM(r->r_info)];
	void *value;

	if (!ELF64_R_SYM(r->r_info) || !elf_undefined(s))
		return;
	value = *(void **)(m->elf.base + r->r_offset);
	for (uint32_t i = 0; i < wrappers_count; i++) {
		const struct module *where;

		if (edge_wrappers[i] != value)
			continue;
		where = module_at((uintptr_t)edge_originals[i]);
		say("slot %s %lx %s %s+%lx\n", short_name(m), r->r_offset,
		    m->elf.strings + s->st_name, short_name(where),
		    where ? (uintptr_t)edge_originals[i] - where->elf.base : 0);
	}
}

static void say_slots(void *argument)
{
	(void)argument;
	for (size_t n = 0; n < modules_count(); n++) {
		const struct module *m = module_number(n);

		for (size_t i = 0; i < m->elf.data.count; i++)
			say_slot(m, &m->elf.data.entry[i]);
		for (size_t i = 0; i < m->elf.plt.count; i++)
			say_slot(m, &m->elf.plt.entry[i]);
	}
}

static void say_calls(void *argument)
{
	(void)argument;
	for (uint32_t i = 0; i < wrappers_count; i++) {
		const struct edge_symbol *s = counts[i] ? symbol_of(i) : NULL;
		const struct module *where = module_at((uintptr_t)edge_originals[i]);

		if (s)
			say("call %s%s %u %s %lu\n", edge_apis[s->api].inside ? "inner:" : "",
			    s->name, i - s->wrapper, short_name(where), counts[i]);
	}
	memset(counts, 0, wrappers_count * sizeof(counts[0]));
}

void process_end(void)
{
	modules_locked(say_calls, NULL);
	if (probe.slots)
		modules_locked(say_slots, NULL);
	say("event end\n");
}

void process_confined(void)
{
	say("event confined\n");
}

void process_quiet(bool no_clock)
{
	say("event quiet %d\n", no_clock);
}

void process_limited(bool done)
{
	say("event limited %d\n", done);
}

void process_before_exec(void)
{
	modules_locked(say_calls, NULL);
	say("event exec\n");
}

void process_resume(void)
{
	say("event exec-failed\n");
}

void process_vfork_child(void)
{
	say("event vfork-child\n");
}

void process_vfork_parent(void)
{
	say("event vfork-parent\n");
}

void process_leave_thread(void)
{
}

void process_shared_descriptors(bool only_kept_by_exec)
{
	say("event shared %s\n", only_kept_by_exec ? "exec" : "fork");
}
