/* Extended attributes. */
#include <string.h>

#include "names.h"
#include "skin.h"

/* What a call is about: an open file, or what a path leads to. */
struct subject {
	struct file *f; /* NULL: the path's */
	const struct place *at;
	int flags; /* AT_SYMLINK_NOFOLLOW, or 0 */
	struct fathom_fwd_handle handle;
};

/* 0, or what asking_end is to be told. */
static int begin(struct asking *a, struct subject *s)
{
	int error;

	if (s->f) {
		s->handle = s->f->shared->handle;
		error = file_asking(a, s->f);
		return !error && s->f->shared->flags & O_PATH ? EBADF : error;
	}
	error = name_attributes(s->at, s->flags, &s->handle, NULL) ? errno : 0;
	if (error) {
		asking_begin(a, s->at->text);
		return error;
	}
	error = asking_begin(a, s->at->text);
	if (!s->at->by_handle)
		asking_about(a, &s->handle, s->at->path);
	return error;
}

static ssize_t get(struct subject s, const char *name, void *value, size_t room)
{
	struct asking a;
	size_t length = 0;
	int error = begin(&a, &s);

	if (!error)
		error = strlen(name) > NAME_MAX
				? ERANGE
				: fathom_fwd_getxattr(a.client, &s.handle, name, value, room,
						      &length, &a.hints);
	return asking_end(&a, error) ? -1 : (ssize_t)length;
}

static ssize_t list(struct subject s, char *names, size_t room)
{
	struct asking a;
	size_t length = 0;
	int error = begin(&a, &s);

	if (!error)
		error = fathom_fwd_listxattr(a.client, &s.handle, names, room, &length, &a.hints);
	return asking_end(&a, error) ? -1 : (ssize_t)length;
}

static int set(struct subject s, const char *name, const void *value, size_t length, int flags)
{
	struct asking a;
	int error = begin(&a, &s);

	if (!error)
		error = strlen(name) > NAME_MAX
				? ERANGE
				: fathom_fwd_setxattr(a.client, &s.handle, name, value, length,
						      (uint32_t)flags, &a.hints);
	return asking_end(&a, error);
}

static int remove_one(struct subject s, const char *name)
{
	struct asking a;
	int error = begin(&a, &s);

	if (!error)
		error = strlen(name) > NAME_MAX
				? ERANGE
				: fathom_fwd_removexattr(a.client, &s.handle, name, &a.hints);
	return asking_end(&a, error);
}

static struct subject of_path(const struct place *at)
{
	return (struct subject){.at = at};
}

static struct subject of_name(const struct place *at)
{
	return (struct subject){.at = at, .flags = AT_SYMLINK_NOFOLLOW};
}

static struct subject of_file(struct file *f)
{
	return (struct subject){.f = f};
}

ssize_t forward_getxattr(const struct place *at, const char *name, void *value, size_t room)
{
	return get(of_path(at), name, value, room);
}

ssize_t forward_lgetxattr(const struct place *at, const char *name, void *value, size_t room)
{
	return get(of_name(at), name, value, room);
}

ssize_t forward_fgetxattr(struct file *f, const char *name, void *value, size_t room)
{
	return get(of_file(f), name, value, room);
}

ssize_t forward_listxattr(const struct place *at, char *names, size_t room)
{
	return list(of_path(at), names, room);
}

ssize_t forward_llistxattr(const struct place *at, char *names, size_t room)
{
	return list(of_name(at), names, room);
}

ssize_t forward_flistxattr(struct file *f, char *names, size_t room)
{
	return list(of_file(f), names, room);
}

int forward_setxattr(const struct place *at, const char *name, const void *value, size_t length,
		     int flags)
{
	return set(of_path(at), name, value, length, flags);
}

int forward_lsetxattr(const struct place *at, const char *name, const void *value, size_t length,
		      int flags)
{
	return set(of_name(at), name, value, length, flags);
}

int forward_fsetxattr(struct file *f, const char *name, const void *value, size_t length, int flags)
{
	return set(of_file(f), name, value, length, flags);
}

int forward_removexattr(const struct place *at, const char *name)
{
	return remove_one(of_path(at), name);
}

int forward_lremovexattr(const struct place *at, const char *name)
{
	return remove_one(of_name(at), name);
}

int forward_fremovexattr(struct file *f, const char *name)
{
	return remove_one(of_file(f), name);
}
