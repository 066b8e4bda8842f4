/* What dlsym answers: the wrapper where a slot of the asking module would hold it. */
#include <dlfcn.h>
#include <errno.h>

#include "edges/hooks.h"
#include "edges/scopes.h"
#include "edges/targets.h"

_Bool edges_knows(const char *name)
{
	return target_of(name);
}

struct answer {
	const struct edges_question *question;
	void *wrapper;
};

static void *find_for(const struct module *m, const struct edges_question *q)
{
	struct elf_query query = elf_query(q->name, q->version);
	const struct module *where;
	void *address;

	query.newest = !q->version;
	query.exact = q->version;
	if (q->handle == RTLD_NEXT) {
		const ElfW(Sym) *own = elf_find(&m->elf, &query);

		/* It defines the name itself: an interposer, which is told the truth. */
		return own && !elf_undefined(own) ? NULL : lookup_next(m, &query, &where);
	}
	if (q->handle != RTLD_DEFAULT)
		return q->original;
	address = lookup_local(m, true, &query, &where);
	if (!address)
		address = q->original;
	return address ? address : lookup_local(m, false, &query, &where);
}

static void answer(void *argument)
{
	struct answer *a = argument;
	const struct edges_question *q = a->question;
	struct module *m = module_at((uintptr_t)q->caller);
	void *target;

	targets_free();
	if (!m || target_excluded(m))
		return;
	target = find_for(m, q);
	/* Its own function is no edge of a module: it calls that directly as well. */
	if (target && !elf_inside(&m->elf, (uintptr_t)target) && !target_final(q->name, target))
		a->wrapper = target_choose(m, target_of(q->name), target);
}

void *edges_answer(const struct edges_question *question)
{
	struct answer a = {.question = question};
	int before = errno;

	edges_settle(); /* what a constructor loaded by itself */
	modules_locked(answer, &a);
	targets_say();
	errno = before;
	return a.wrapper;
}

struct libc_question {
	const void *address;
	bool answer;
};

static void ask_libc(void *argument)
{
	struct libc_question *q = argument;
	const struct module *m = module_at((uintptr_t)q->address);

	q->answer = m && target_libc(m);
}

_Bool edges_in_libc(const void *address)
{
	struct libc_question q = {.address = address};

	modules_locked(ask_libc, &q);
	return q.answer;
}
