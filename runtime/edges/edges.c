/* Which slots go to which wrappers: the catalog's symbols against the modules' relocations. */
#include "edges/edges.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>

#include "core/call.h"
#include "core/raw.h"
#include "edges/gate.h"
#include "edges/hidden.h"
#include "edges/hooks.h"
#include "edges/scopes.h"
#include "edges/targets.h"
#include "user/user.h"

#if defined(__x86_64__)
enum { SLOT_PLT = R_X86_64_JUMP_SLOT, SLOT_GOT = R_X86_64_GLOB_DAT, SLOT_DATA = R_X86_64_64 };
#elif defined(__aarch64__)
enum { SLOT_PLT = R_AARCH64_JUMP_SLOT, SLOT_GOT = R_AARCH64_GLOB_DAT, SLOT_DATA = R_AARCH64_ABS64 };
#endif

/* Set by the first edges_patch, but for the tickets: under the loader's lock. */
static struct {
	uint32_t layers;
	long page;
	unsigned tickets;
	/* Modules whose pages could not be made writable, for the note: the first, how many, why. */
	char closed[64];
	unsigned closed_count;
	int closed_error;
	/* The same of modules that Go has made. */
	char go[64];
	unsigned go_count;
} edges;

/* A lazy slot still points into its own module; ld.so would bind it at the first call. */
static void *bound_value(const struct module *m, const ElfW(Rela) * r, void *value)
{
	size_t index = ELF64_R_SYM(r->r_info);
	const struct module *where;
	struct elf_query q;

	if (ELF64_R_TYPE(r->r_info) != SLOT_PLT || !elf_inside(&m->elf, (uintptr_t)value))
		return value;
	q = elf_query(m->elf.strings + m->elf.symbols[index].st_name,
		      elf_wanted_version(&m->elf, index));
	q.plt = true;
	return lookup_scope(m, &q, &where);
}

static bool protect(struct module *m, uintptr_t from, uintptr_t to, int protection)
{
	const long error = raw3(SYS_mprotect, (long)from, (long)(to - from), protection);

	if (!error)
		return true;
	if (!m->closed && !edges.closed_count++) {
		strncpy(edges.closed, *m->file ? m->file : "the program", sizeof(edges.closed) - 1);
		edges.closed_error = (int)-error;
	}
	m->closed = true;
	return false;
}

/* Opens the module's RELRO pages once; a page of another read-only segment (text relocations) each time. False:
 * they stay closed, and the slot is as it was. */
static bool write_slot(struct module *m, void **slot, void *to)
{
	uintptr_t at = (uintptr_t)slot, page = at & -(uintptr_t)edges.page;
	uintptr_t end = page + (uintptr_t)edges.page;
	int protection = elf_protection(&m->elf, at);
	bool relro = at >= m->elf.relro && at < m->elf.relro_end;
	bool closed = !(protection & PROT_WRITE);

	if ((relro || closed) && m->closed)
		return false;
	if (relro && !m->relro_open &&
	    !protect(m, m->elf.relro, m->elf.relro_end, PROT_READ | PROT_WRITE))
		return false;
	m->relro_open |= relro;
	if (closed && !protect(m, page, end, protection | PROT_WRITE))
		return false;
	atomic_store_explicit((_Atomic(void *) *)slot, to, memory_order_release);
	if (closed)
		raw3(SYS_mprotect, (long)page, edges.page, protection);
	return true;
}

static void say_closed(void)
{
	const unsigned count = edges.closed_count;

	if (count)
		note("edges: calls of %s and of %u other modules are not recorded: where they "
		     "keep addresses of functions cannot be made writable (errno %d)",
		     edges.closed, count - 1, edges.closed_error);
	edges.closed_count = 0;
}

static void meet_go(const struct module *m)
{
	if (elf_has_note(&m->elf, "Go\0", 4, 4) && !edges.go_count++)
		strncpy(edges.go, *m->file ? m->file : "the program", sizeof(edges.go) - 1);
}

static void say_go(void)
{
	if (edges.go_count)
		note("Go: %s makes system calls of its own: what Go reads and writes by them is "
		     "not recorded, only calls of C libraries are; --strace records them",
		     edges.go);
	edges.go_count = 0;
}

static bool is_slot(const ElfW(Rela) * r)
{
	const unsigned type = ELF64_R_TYPE(r->r_info);

	return type == SLOT_PLT || ((type == SLOT_GOT || type == SLOT_DATA) && !r->r_addend);
}

/* `inside`: of what m calls of itself, something may be ours too. */
static void patch_slot(struct module *m, const ElfW(Rela) * r, bool inside)
{
	const ElfW(Sym) *symbol = &m->elf.symbols[ELF64_R_SYM(r->r_info)];
	const bool imported = elf_undefined(symbol);
	void **slot = (void **)(m->elf.base + r->r_offset);
	const struct target *t;
	void *original, *wrapper;
	const char *name;

	if (!is_slot(r) || (!imported && !inside))
		return;
	name = m->elf.strings + symbol->st_name;
	t = target_of(name);
	if (!t || (!imported && !target_inside(m, t)))
		return;
	original = bound_value(m, r, *slot);
	m->unfinished |= !original && *slot;
	if (!original || target_final(name, original))
		return;
	wrapper = target_choose(m, t, original);
	if (!wrapper)
		return;
	if (!write_slot(m, slot, wrapper))
		return;
	m->marker = slot;
	m->marked = wrapper;
}

static void close_relro(struct module *m)
{
	if (m->relro_open)
		raw3(SYS_mprotect, (long)m->elf.relro, (long)(m->elf.relro_end - m->elf.relro),
		     PROT_READ);
	m->relro_open = false;
}

/* What the descriptors that it made stand for, the forwarding client tells. */
static void ask_client(const struct module *m)
{
	struct elf_query q = elf_query("fathom_fwd_about", NULL);
	const ElfW(Sym) * symbol;

	q.newest = true;
	symbol = m->at_start ? elf_find(&m->elf, &q) : NULL;
	if (symbol && !elf_undefined(symbol))
		descriptor_ask((descriptor_teller *)elf_address(&m->elf, symbol));
}

static void patch_module(struct module *m)
{
	m->patched = true;
	m->unfinished = false;
	if (target_excluded(m))
		return;
	const bool inside = target_inside(m, NULL);
	if (edges.layers >> LAYER_USER & 1)
		user_slots(&m->elf);
	if (target_client(m)) {
		ask_client(m);
		return;
	}
	for (size_t i = 0; i < m->elf.data.count; i++)
		patch_slot(m, &m->elf.data.entry[i], inside);
	for (size_t i = 0; i < m->elf.plt.count; i++)
		patch_slot(m, &m->elf.plt.entry[i], inside);
	close_relro(m);
}

static void patch_new(struct module *m)
{
	if (m->patched)
		return;
	meet_go(m);
	patch_module(m);
}

static void patch_all(void *argument)
{
	(void)argument;
	for (size_t i = 0; targets_ready(edges.layers) && i < modules_count(); i++)
		patch_new(module_number(i));
	hidden_patch();
}

/* Modules that came by a dlopen we did not see, or may be new at an old place, get the ticket of
 * the thread that will patch them; 0 when there are none. */
static void take_ticket(void *ticket)
{
	unsigned *taken = ticket;

	targets_free();
	*taken = 0;
	for (size_t i = 0; i < modules_count(); i++) {
		if (module_number(i)->patched)
			continue;
		if (!*taken)
			*taken = ++edges.tickets ? edges.tickets : ++edges.tickets;
		module_number(i)->ticket = *taken;
	}
}

static void use_ticket(void *ticket)
{
	targets_free();
	for (size_t i = 0; i < modules_count(); i++)
		if (module_number(i)->ticket == *(const unsigned *)ticket)
			patch_new(module_number(i));
}

/* Another thread may be relocating a module of the list this moment, and a slot written before that
 * is done would be spoilt. dladdr takes the lock that dlopen holds to its end: what was met before
 * is complete after it. Given up when other threads unload all the time; the next dlopen tries
 * again. */
void edges_settle(void)
{
	for (int tries = 0; tries < 3 && modules_known() && !raw_closed(); tries++) {
		unsigned ticket = 0;
		Dl_info info;

		modules_locked(take_ticket, &ticket);
		if (!ticket)
			break;
		dladdr(&edges, &info);
		modules_locked(use_ticket, &ticket);
	}
	say_go();
}

void edges_patch(uint32_t layers)
{
	int before = errno;

	edges.layers = layers;
	edges.page = (long)getauxval(AT_PAGESZ);
	modules_locked(patch_all, NULL);
	targets_say();
	say_closed();
	say_go();
	errno = before;
}

static void patch_again(void *argument)
{
	(void)argument;
	for (size_t i = 0; i < modules_count(); i++)
		if (module_number(i)->patched)
			patch_module(module_number(i));
}

/* The kernel counts threads as folders of this one, which has two names more. */
static bool only_this_thread(void)
{
	struct stat tasks;

	return raw4(SYS_newfstatat, AT_FDCWD, (long)"/proc/self/task", (long)&tasks, 0) == 0 &&
	       tasks.st_nlink == 2 + 1;
}

/* Another thread may be about to bind a lazy slot, and would write over ours. */
void edges_patch_live(uint32_t layers)
{
	edges_patch(layers);
	if (only_this_thread())
		return;
	raw_wait();
	modules_locked(patch_again, NULL);
}

static void restore_table(struct module *m, const struct elf_table *table)
{
	for (size_t i = 0; i < table->count; i++) {
		const ElfW(Rela) *r = &table->entry[i];
		const char *name = m->elf.strings + m->elf.symbols[ELF64_R_SYM(r->r_info)].st_name;
		void **slot = (void **)(m->elf.base + r->r_offset), *before;

		if (!is_slot(r))
			continue;
		before = target_before(name, *slot);
		if (before)
			write_slot(m, slot, before);
	}
}

static void restore_all(void *argument)
{
	(void)argument;
	hidden_unpatch();
	for (size_t i = 0; i < modules_count(); i++) {
		struct module *m = module_number(i);

		m->patched = false;
		m->marker = NULL;
		if (target_excluded(m))
			continue;
		restore_table(m, &m->elf.data);
		restore_table(m, &m->elf.plt);
		close_relro(m);
	}
}

void edges_unpatch(void)
{
	modules_locked(restore_all, NULL);
}

struct opened {
	const struct link_map *map;
	int flags;
};

static void patch_opened(void *argument)
{
	const struct opened *opened = argument;

	targets_free();
	scopes_opened(opened->map, opened->flags, patch_new);
	for (size_t i = 0; i < modules_count(); i++)
		if (module_number(i)->unfinished)
			patch_module(module_number(i)); /* what came may define it */
}

void edges_opened(void *handle, int flags)
{
	struct opened opened = {.map = handle, .flags = flags};
	int before = errno;

	if (raw_closed())
		return; /* no slot could be written */
	modules_loader_lives();
	modules_locked(patch_opened, &opened);
	edges_settle();
	targets_say();
	say_closed();
	errno = before;
}

static void after_close(void *argument)
{
	(void)argument;
	targets_free();
}

void edges_closed(void)
{
	int before = errno;

	if (raw_closed())
		return;
	modules_loader_lives();
	modules_locked(after_close, NULL);
	errno = before;
}
