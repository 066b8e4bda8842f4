/* Libraries that a process uses, each with its version: a mark of its stream. */
#include "core/libraries.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/call.h"
#include "core/state.h"
#include "core/stream.h"
#include "core/text.h"
#include "core/thread.h"

enum { LIBRARIES = 32, LIBRARY_BYTES = 64 };

/* Not wiped by a fork: what its parent loaded, a child has. */
static char known[LIBRARIES][LIBRARY_BYTES];

/* Of two threads at once one may take the other's place: what is lost is a child's. */
static void keep(const char *text)
{
	for (int i = 0; i < LIBRARIES; i++) {
		if (!known[i][0])
			text_copy(known[i], LIBRARY_BYTES, text);
		if (strcmp(known[i], text) == 0)
			return;
	}
}

void libraries_forget(void)
{
	memset(known, 0, sizeof(known));
}

void libraries_tell(struct thread *t)
{
	for (int i = 0; i < LIBRARIES && known[i][0]; i++)
		stream_mark(t, "library", known[i], 0);
}

void note_library(const char *format, ...)
{
	struct thread *t = thread_claim();
	char text[LIBRARY_BYTES];
	va_list list;

	if (!t)
		return;
	va_start(list, format);
	vsnprintf(text, sizeof(text), format, list);
	va_end(list);
	keep(text);
	stream_mark(t, "library", text, 0);
	thread_release(t);
}

void note_package(const char *name, const char *version, const char *folder)
{
	struct thread *t = thread_claim();

	if (!t)
		return;
	snprintf(t->path, sizeof(t->path), "%s %s of %s", name, version, folder);
	stream_mark(t, "package", t->path, 0);
	thread_release(t);
}
