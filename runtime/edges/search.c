/* dlopen for another module. ld.so uses its caller for three things: the namespace (ours is the
 * same), $ORIGIN in the name, and the RPATH or RUNPATH of the module when the name has no slash.
 * The last two are done here; the rest stays with ld.so. Without such a path in the caller's module
 * nothing is done at all. Limit: the glibc-hwcaps folders below RPATH and RUNPATH are not tried. */
#include "edges/search.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "core/raw.h"
#include "edges/hooks.h"
#include "edges/scopes.h"
#include "edges/vector.h"

enum {
	SEARCH_BYTES = 16384, /* of expanded candidates; a longer list goes to ld.so as it is */
	CHAIN = 16,           /* modules whose RPATH is inherited */
};

/* Candidates in the order to try: each a path with NUL, the last one empty. */
struct search {
	const char *file;
	const void *caller;
	bool before_library_path; /* RPATH; RUNPATH comes after LD_LIBRARY_PATH */
	bool failed;              /* too long */
	size_t used;
	char candidate[SEARCH_BYTES];
};

static char *
	library_path; /* a copy, written once by search_begin: programs write over their environment */

void search_begin(char *const *environment)
{
	for (; environment && *environment; environment++)
		if (!strncmp(*environment, "LD_LIBRARY_PATH=", 16) && (*environment)[16]) {
			library_path = pages_get(strlen(*environment));
			if (library_path)
				strcpy(library_path, *environment + 16);
			return;
		}
}

static void *real_dlopen(const char *file, int flags)
{
	return ((void *(*)(const char *, int))originals.dlopen)(file, flags);
}

static void put(struct search *s, const char *text, size_t length)
{
	if (s->used + length + 2 > SEARCH_BYTES) {
		s->failed = true;
		return;
	}
	memcpy(s->candidate + s->used, text, length);
	s->used += length;
	s->candidate[s->used] = 0;
	s->candidate[s->used + 1] = 0;
}

/* The folder of the module's file, as $ORIGIN means it. */
static void put_origin(struct search *s, const struct module *m)
{
	char program[4096];
	const char *path = m->map->l_name, *slash;
	long n;

	if (!*path) {
		n = raw6(SYS_readlinkat, AT_FDCWD, (long)"/proc/self/exe", (long)program,
			 sizeof(program) - 1, 0, 0);
		program[n > 0 ? n : 0] = 0;
		path = program;
	}
	slash = strrchr(path, '/');
	if (slash)
		put(s, path, slash == path ? 1 : (size_t)(slash - path));
	else
		put(s, ".", 1);
}

/* Copies one path with $ORIGIN replaced; $LIB and $PLATFORM are the same for every caller. */
static void put_expanded(struct search *s, const struct module *m, const char *text, size_t length)
{
	for (size_t i = 0; i < length;) {
		size_t skip = 0;

		if (length - i >= 7 && !strncmp(text + i, "$ORIGIN", 7))
			skip = 7;
		else if (length - i >= 9 && !strncmp(text + i, "${ORIGIN}", 9))
			skip = 9;
		if (skip)
			put_origin(s, m);
		else
			put(s, text + i, 1);
		i += skip ? skip : 1;
	}
}

static void put_folders(struct search *s, const struct module *m, const char *paths)
{
	while (*paths) {
		size_t length = strcspn(paths, ":");

		if (length)
			put_expanded(s, m, paths, length);
		else
			put(s, ".", 1);
		put(s, "/", 1);
		put(s, s->file, strlen(s->file));
		s->used++; /* the candidate's own NUL */
		paths += length + (paths[length] == ':');
	}
}

static void collect(void *argument)
{
	struct search *s = argument;
	const struct module *m = module_at((uintptr_t)s->caller);

	if (!m)
		return;
	if (strchr(s->file, '/')) {
		if (strstr(s->file, "$ORIGIN") || strstr(s->file, "${ORIGIN}"))
			put_expanded(s, m, s->file, strlen(s->file));
		return;
	}
	if (module_named(s->file))
		return; /* loaded under this name: that one is meant */
	s->before_library_path = !m->elf.runpath;
	if (m->elf.runpath)
		put_folders(s, m, m->elf.runpath);
	for (int i = 0; s->before_library_path && m && i < CHAIN; i++) {
		if (m->elf.rpath)
			put_folders(s, m, m->elf.rpath);
		m = module_loader(m);
	}
}

enum answer { NO, YES, UNKNOWN };

/* ld.so passes over libraries for another machine and ends with an error at a file that is none. */
static enum answer is_tried(const char *path)
{
	unsigned char head[EI_NIDENT] = {0};
	long fd = raw4(SYS_openat, AT_FDCWD, (long)path, O_RDONLY | O_CLOEXEC, 0), got;

	if (fd < 0)
		return fd == -ENOENT || fd == -ENOTDIR || fd == -EACCES ? NO : UNKNOWN;
	got = raw3(SYS_read, fd, (long)head, sizeof(head));
	raw3(SYS_close, fd, 0, 0);
	if (got < 0)
		return UNKNOWN;
	return memcmp(head, ELFMAG, SELFMAG) != 0 ||
			       head[EI_CLASS] == (sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32)
		       ? YES
		       : NO;
}

static bool in_library_path(const char *file)
{
	char path[4096];
	size_t name = strlen(file);

	for (const char *p = library_path; p && *p;) {
		size_t length = strcspn(p, ":;");

		if (length + name + 3 < sizeof(path)) {
			memcpy(path, length ? p : ".", length ? length : 1);
			path[length ? length : 1] = '/';
			memcpy(path + (length ? length : 1) + 1, file, name + 1);
			if (is_tried(path) == YES)
				return true;
		}
		p += length + (p[length] != 0);
	}
	return false;
}

void *search_dlopen(const char *file, int flags, const void *caller)
{
	struct search s;
	const char *c = s.candidate;
	bool slash;

	if (!file || !*file)
		return real_dlopen(file, flags);
	s.file = file;
	s.caller = caller;
	s.failed = s.before_library_path = false;
	s.used = 0;
	s.candidate[0] = s.candidate[1] = 0;
	modules_locked(collect, &s);
	slash = strchr(file, '/');
	if (s.failed || !*c)
		return real_dlopen(file, flags);
	if (slash)
		return real_dlopen(c, flags);
	if (!s.before_library_path && in_library_path(file))
		return real_dlopen(file, flags);
	for (; *c; c += strlen(c) + 1) {
		const enum answer tried = is_tried(c);
		void *handle = tried == NO ? NULL : real_dlopen(c, flags);

		if (tried == YES || handle)
			return handle;
	}
	return real_dlopen(file, flags);
}
