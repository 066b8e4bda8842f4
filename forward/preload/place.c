/* Which path lies below a prefix. Paths are compared as text: a symbolic link of this node is not followed. */
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "skin.h"

/* What a relative path begins with: the directory's own path. */
static bool directory_path(struct place *p, int directory)
{
	char link[32];
	ssize_t n;

	if (directory == AT_FDCWD && cwd_is_ours())
		directory = cwd_descriptor();
	if (directory == AT_FDCWD)
		return syscall(SYS_getcwd, p->text, sizeof(p->text)) > 0 && *p->text == '/';
	if (file_path(directory, p->text))
		return true;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", directory);
	n = syscall(SYS_readlinkat, AT_FDCWD, link, p->text, sizeof(p->text) - 1);
	p->text[n > 0 ? n : 0] = 0;
	return *p->text == '/';
}

/* An empty path means the descriptor itself, where a call allows it. */
static bool descriptor_itself(struct place *p, int directory)
{
	struct file *f = file_get(directory);

	p->path = "";
	if (!f)
		return false;
	p->by_handle = true;
	p->handle = f->shared->handle;
	file_put(f);
	return true;
}

/* The prefix that the first `length` bytes of a path are, or lie below; NULL: none. */
static const struct prefix *prefix_of(const char *path, size_t length)
{
	const struct settings *s = settings();

	for (int i = 0; i < s->prefixes; i++) {
		const struct prefix *p = &s->prefix[i];

		if (length >= p->length && !memcmp(path, p->path, p->length) &&
		    (length == p->length || path[p->length] == '/'))
			return p;
	}
	return NULL;
}

/* Where a path of `have` bytes ends without its last part. From the top of a prefix .. stays there, as from /. */
static size_t above(const char *path, size_t have)
{
	const struct prefix *top = prefix_of(path, have);

	if (top && have == top->length)
		return have;
	while (have > 0 && path[--have] != '/')
		;
	return have;
}

/* Appends the parts of `path` to the absolute path in p->text; without ., .. and empty ones. */
static bool append(struct place *p, const char *path)
{
	size_t have = strlen(p->text);

	while (have > 0 && p->text[have - 1] == '/')
		have--;
	while (*path) {
		size_t length = strcspn(path, "/");

		if (length == 2 && !memcmp(path, "..", 2)) {
			have = above(p->text, have);
		} else if (length && !(length == 1 && *path == '.')) {
			if (have + length + 2 > sizeof(p->text))
				return false;
			p->text[have++] = '/';
			memcpy(p->text + have, path, length);
			have += length;
		}
		p->slash = path[length] == '/';
		path += length + (path[length] == '/');
	}
	p->text[have] = 0;
	return true;
}

static bool below_prefix(struct place *p)
{
	const struct prefix *top = prefix_of(p->text, strlen(p->text));

	if (top)
		p->path = p->text + top->length + (p->text[top->length] == '/');
	return top != NULL;
}

static bool find(struct place *p, int directory, const char *path)
{
	p->given = (char *)(uintptr_t)path;
	p->by_handle = p->slash = false;
	p->path = NULL;
	p->text[0] = 0;
	if (!*path)
		return descriptor_itself(p, directory);
	if (*path != '/' && !directory_path(p, directory))
		return false;
	return append(p, path) && below_prefix(p);
}

bool place_find(struct place *p, int directory, const char *path)
{
	int before = errno;
	bool served = settings() && path && !asking() && find(p, directory, path);

	errno = before;
	return served;
}

bool place_pair(struct place *a, int a_directory, const char *a_path, struct place *b,
		int b_directory, const char *b_path)
{
	bool first = place_find(a, a_directory, a_path),
	     second = place_find(b, b_directory, b_path);

	if (!first)
		a->path = NULL;
	if (!second)
		b->path = NULL;
	return first || second;
}
