/* Which path lies below a prefix. That is found by its text: a symbolic link of this node is not followed. */
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "skin.h"

/* A part of it is .. */
static bool leads_up(const char *path)
{
	for (const char *part = path; part; part = strchr(part, '/')) {
		part += *part == '/';
		if (!strncmp(part, "..", 2) && (part[2] == '/' || !part[2]))
			return true;
	}
	return false;
}

/* The directory is opened, and known by its handle, whatever its name is. From one that .. may leave, and from the root, a
 * path is followed from the root. */
static void begin_in(struct place *p, int directory, const char *path)
{
	struct file *f = file_get(directory);

	if (!f)
		return;
	p->from_directory = *f->shared->path && S_ISDIR(f->shared->mode) && !leads_up(path);
	p->directory = f->shared->handle;
	p->below = path;
	snprintf(p->directory_path, sizeof(p->directory_path), "%s", f->shared->path);
	file_put(f);
}

/* What a relative path begins with: the directory's own path. */
static bool directory_path(struct place *p, int directory, const char *path)
{
	char link[32];
	ssize_t n;

	if (directory == AT_FDCWD && cwd_is_ours())
		directory = cwd_descriptor();
	if (directory == AT_FDCWD)
		return syscall(SYS_getcwd, p->text, sizeof(p->text)) > 0 && *p->text == '/';
	if (file_path(directory, p->text)) {
		begin_in(p, directory, path);
		return true;
	}
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
	snprintf(p->text, sizeof(p->text), "%s", f->shared->path);
	file_put(f);
	return true;
}

/* The descriptor of this process that a path names as the kernel does; -1: it names none. The kernel would open what stands
 * for it. */
static int descriptor_named(const char *path)
{
	static const char *const streams[] = {"/dev/stdin", "/dev/stdout", "/dev/stderr"};
	int fd = -1, pid = 0, end = 0;

	for (int i = 0; i < 3; i++)
		if (!strcmp(path, streams[i]))
			return i;
	if (sscanf(path, "/proc/self/fd/%d%n", &fd, &end) == 1 && !path[end])
		return fd;
	if (sscanf(path, "/proc/thread-self/fd/%d%n", &fd, &end) == 1 && !path[end])
		return fd;
	if (sscanf(path, "/dev/fd/%d%n", &fd, &end) == 1 && !path[end])
		return fd;
	if (sscanf(path, "/proc/%d/fd/%d%n", &pid, &fd, &end) == 2 && !path[end] && pid == getpid())
		return fd;
	return -1;
}

const struct prefix *prefix_of(const char *path, size_t length)
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

/* Where a path of `have` bytes ends without its last part. */
static size_t above(const char *path, size_t have)
{
	while (have > 0 && path[--have] != '/')
		;
	return have;
}

/* One .. more leads out of the directory that these bytes of a path begin in. */
static bool leads_out(const char *path, size_t length)
{
	size_t depth = 0;

	for (size_t at = 0; at < length;) {
		size_t part = strcspn(path + at, "/");

		part = part < length - at ? part : length - at;
		if (part == 2 && !memcmp(path + at, "..", 2))
			depth--; /* never the first: that would lead out */
		else if (part && !(part == 1 && path[at] == '.'))
			depth++;
		at += part + 1;
	}
	return depth == 0;
}

static bool put_part(struct place *p, size_t *have, const char *part, size_t length)
{
	if (*have + length + 3 > sizeof(p->text))
		return false;
	p->text[(*have)++] = '/';
	memcpy(p->text + *have, part, length);
	*have += length;
	return true;
}

/* Appends `path` to the absolute path in p->text. Below a prefix . and .. and a slash at the end are left for the server,
 * as only its file system knows what is a link or no directory; from the top .. stays there, as from /. */
static bool append(struct place *p, const char *path)
{
	size_t have = strlen(p->text);
	const struct prefix *top;

	while (have > 0 && p->text[have - 1] == '/')
		have--;
	top = prefix_of(p->text, have);
	while (*path) {
		size_t length = strcspn(path, "/");
		bool up = length == 2 && !memcmp(path, "..", 2);

		if (up && !top)
			have = above(p->text, have);
		else if (up && leads_out(p->text + top->length, have - top->length))
			have = top->length;
		else if (length && (top || !(length == 1 && *path == '.')) &&
			 !put_part(p, &have, path, length))
			return false;
		p->slash = path[length] == '/';
		path += length + (path[length] == '/');
		top = top ? top : prefix_of(p->text, have);
	}
	if (p->slash && top && have > top->length)
		p->text[have++] = '/';
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

static bool too_long(const char *path)
{
	return strnlen(path, PATH_MAX) == PATH_MAX;
}

static bool find(struct place *p, int directory, const char *path)
{
	p->by_handle = p->by_number = p->slash = p->from_directory = false;
	p->path = NULL;
	p->text[0] = 0;
	if (!*path)
		return descriptor_itself(p, directory);
	if (too_long(path))
		return false; /* as the kernel will say */
	if (*path == '/' && (path[1] == 'p' || path[1] == 'd')) {
		p->by_number = descriptor_itself(p, descriptor_named(path));
		if (p->by_number)
			return true;
		p->path = NULL;
		p->text[0] = 0;
	}
	if (*path != '/' && !directory_path(p, directory, path))
		return false;
	return append(p, path) && below_prefix(p);
}

bool place_find(struct place *p, int directory, const char *path)
{
	int before = errno;
	bool served;

	p->given = (char *)(uintptr_t)path;
	served = settings() && path && !asking() && find(p, directory, path);

	errno = before;
	return served;
}

size_t place_prefix(const struct place *p)
{
	size_t length = (size_t)(p->path - p->text);

	return length && p->text[length - 1] == '/' ? length - 1 : length;
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

int place_pair_error(const struct place *a, const struct place *b)
{
	const struct place *other = a->path ? b : a;

	if (other->path)
		return 0;
	return !other->given ? EFAULT : too_long(other->given) ? ENAMETOOLONG : EXDEV;
}
