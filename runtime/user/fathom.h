/* fathom.h: a program's own words in its trace.
 *
 * A region is a call of layer `user`: what is called between its begin and its end has it as parent.
 *
 *	fathom_begin("checkpoint");
 *	fathom_begin_int("step", "number", 17);
 *	...
 *	fathom_end("step");
 *	fathom_end("checkpoint");
 *
 * This file is all there is: no library is linked, nothing is looked up. Where Fathom does not trace the
 * process, each of these functions is one load and one branch. -DFATHOM_OFF leaves out even that.
 * docs/user-api.md says more; Fortran: fathom.f90; Python: fathom.region. */
#ifndef FATHOM_H
#define FATHOM_H

#include <stddef.h>
#include <stdint.h>

enum { FATHOM_NUMBERS = 4 };

/* What a region or a mark may carry. Keys are names of columns: letters, digits, `_`. */
struct fathom_with {
	const char *object; /* a variable, a component: what it works on; NULL: nothing named */
	uint32_t count;     /* of numbers */
	const char *key[FATHOM_NUMBERS];
	int64_t value[FATHOM_NUMBERS];
};

/* What Fathom puts into the process. Names and keys need not outlive a call. */
struct fathom_calls {
	void (*begin)(const char *name, const struct fathom_with *with);
	void (*end)(const char *name);
	void (*mark)(const char *name, const struct fathom_with *with);
	int (*current)(uint64_t *stream, uint64_t *seq);
	void (*call_origin)(uint64_t stream, uint64_t seq);
};

#ifndef FATHOM_INSIDE /* from here on: for programs */

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__ELF__) && !defined(FATHOM_OFF)
/* One for each program and library that includes this file. Fathom finds it by the note, which says where it
 * lies from there, and writes it once. */
extern const struct fathom_calls *volatile fathom_slot_1;
__attribute__((weak, used, visibility("hidden"))) const struct fathom_calls *volatile fathom_slot_1;
__asm__(".pushsection .note.fathom,\"a\",%note\n"
	"	.balign 4\n"
	"	.long 7, 4, 1\n" /* bytes of the name, of what follows it, version */
	"	.asciz \"Fathom\"\n"
	"	.balign 4\n"
	"	.long fathom_slot_1 - .\n"
	"	.popsection");
static inline const struct fathom_calls *fathom_here(void)
{
	return fathom_slot_1;
}
#else
static inline const struct fathom_calls *fathom_here(void)
{
	return NULL;
}
#endif

/* Begins a region of this thread, inside those that are open. */
static inline void fathom_begin_with(const char *name, const struct fathom_with *with)
{
	const struct fathom_calls *fathom = fathom_here();

	if (fathom)
		fathom->begin(name, with);
}

static inline void fathom_begin(const char *name)
{
	fathom_begin_with(name, NULL);
}

/* With a number, such as that of a step. */
static inline void fathom_begin_int(const char *name, const char *key, int64_t value)
{
	const struct fathom_calls *fathom = fathom_here();

	if (fathom) {
		struct fathom_with with = {NULL, 1, {key, NULL, NULL, NULL}, {value, 0, 0, 0}};

		fathom->begin(name, &with);
	}
}

/* On something that has a name, such as a variable. */
static inline void fathom_begin_on(const char *name, const char *object)
{
	const struct fathom_calls *fathom = fathom_here();

	if (fathom) {
		struct fathom_with with = {object, 0, {NULL, NULL, NULL, NULL}, {0, 0, 0, 0}};

		fathom->begin(name, &with);
	}
}

/* Ends the innermost open region of this name, NULL: of any. Regions begun inside it and never ended become
 * rows `unfinished`; an end without a begin is said in the run's log. */
static inline void fathom_end(const char *name)
{
	const struct fathom_calls *fathom = fathom_here();

	if (fathom)
		fathom->end(name);
}

/* A point in time: a call that ends as it begins. */
static inline void fathom_mark_with(const char *name, const struct fathom_with *with)
{
	const struct fathom_calls *fathom = fathom_here();

	if (fathom)
		fathom->mark(name, with);
}

static inline void fathom_mark(const char *name)
{
	fathom_mark_with(name, NULL);
}

static inline void fathom_mark_int(const char *name, const char *key, int64_t value)
{
	const struct fathom_calls *fathom = fathom_here();

	if (fathom) {
		struct fathom_with with = {NULL, 1, {key, NULL, NULL, NULL}, {value, 0, 0, 0}};

		fathom->mark(name, &with);
	}
}

/* Identity of the innermost call of this thread that is open: 16 bytes to send with a request. 0, and both
 * numbers 0: none is recorded. */
static inline int fathom_current(uint64_t *stream, uint64_t *seq)
{
	const struct fathom_calls *fathom = fathom_here();

	*stream = *seq = 0;
	return fathom ? fathom->current(stream, seq) : 0;
}

/* In the server: the innermost open region of this thread serves the call of that identity, also one of
 * another process. Stream 0: nothing happens. */
static inline void fathom_call_origin(uint64_t stream, uint64_t seq)
{
	const struct fathom_calls *fathom = fathom_here();

	if (fathom)
		fathom->call_origin(stream, seq);
}

#ifdef __cplusplus
}

namespace fathom
{
/* A region that ends with its scope, also by an exception. */
class region
{
      public:
	explicit region(const char *name) : name_(name)
	{
		fathom_begin(name);
	}
	region(const char *name, const char *key, int64_t value) : name_(name)
	{
		fathom_begin_int(name, key, value);
	}
	region(const char *name, const struct fathom_with &with) : name_(name)
	{
		fathom_begin_with(name, &with);
	}
	~region()
	{
		fathom_end(name_);
	}
	region(const region &) = delete;
	region &operator=(const region &) = delete;

      private:
	const char *name_;
};
} // namespace fathom
#endif

#endif
#endif
