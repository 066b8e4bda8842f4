/* Names: made, removed, renamed, looked up. */
#include "names.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int look_up(struct asking *a, const struct place *at, int flags,
		   struct fathom_fwd_handle *handle, struct fathom_fwd_attr *attr)
{
	uint32_t follow = flags & AT_SYMLINK_NOFOLLOW && !at->slash ? FATHOM_FWD_NOFOLLOW : 0;
	const struct known *known = opened_by_all(at);
	struct fathom_fwd_attr got;
	int error;

	if (at->by_handle) {
		if (!at->by_number && !(flags & AT_EMPTY_PATH))
			return ENOENT;
		if (handle)
			*handle = at->handle;
		return fathom_fwd_getattr(a->client, &at->handle, attr, &a->hints);
	}
	if (known && !(follow && known->link)) {
		if (handle)
			*handle = known->handle;
		if (attr)
			*attr = known->attr;
		return 0;
	}
	a->follows = !follow;
	do
		error = fathom_fwd_lookup(a->client, asking_from(a, at), asking_below(a, at),
					  follow, handle, &got, &a->hints);
	while (asking_again(a, at, NULL, &error));
	if (!error && at->slash && !S_ISDIR(got.mode))
		return ENOTDIR;
	if (!error && attr)
		*attr = got;
	return error;
}

int name_attributes(const struct place *at, int flags, struct fathom_fwd_handle *handle,
		    struct fathom_fwd_attr *attr)
{
	struct asking a;
	int error = asking_begin(&a, at->text);

	if (!error)
		error = look_up(&a, at, flags, handle, attr);
	return asking_end(&a, error);
}

int name_flags(int flags, int more)
{
	if (!(flags & ~(AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH | more)))
		return 0;
	errno = EINVAL;
	return -1;
}

/* The root itself is neither made, removed nor renamed. */
static int of_root(const struct place *at, int error)
{
	return at->by_handle ? ENOENT : *at->path ? 0 : error;
}

int forward_mkdir(const struct place *at, mode_t mode)
{
	struct asking a;
	int error = asking_begin(&a, at->text);

	if (!error)
		error = of_root(at, EEXIST);
	if (error)
		return asking_end(&a, error);
	do
		error = fathom_fwd_mkdir(a.client, asking_from(&a, at), asking_below(&a, at),
					 mode & ~mask_now() & 07777, NULL, NULL, &a.hints);
	while (asking_again(&a, at, NULL, &error));
	return asking_end(&a, error);
}

int forward_unlinkat(const struct place *at, int flags)
{
	uint32_t directory = flags & AT_REMOVEDIR ? FATHOM_FWD_DIRECTORY : 0;
	struct asking a;
	int error;

	if (flags & ~AT_REMOVEDIR) {
		errno = EINVAL;
		return -1;
	}
	error = asking_begin(&a, at->text);

	if (!error)
		error = of_root(at, EBUSY);
	if (error)
		return asking_end(&a, error);
	do
		error = fathom_fwd_remove(a.client, asking_from(&a, at), asking_below(&a, at),
					  directory, &a.hints);
	while (asking_again(&a, at, NULL, &error));
	return asking_end(&a, error);
}

int forward_unlink(const struct place *at)
{
	return forward_unlinkat(at, 0);
}

int forward_rmdir(const struct place *at)
{
	return forward_unlinkat(at, AT_REMOVEDIR);
}

int forward_remove(const struct place *at)
{
	int done = forward_unlink(at);

	return done && errno == EISDIR ? forward_rmdir(at) : done;
}

int forward_renameat2(const struct place *at, const struct place *to, unsigned int flags)
{
	struct asking a;
	int error = place_pair_error(at, to);

	if (!error && (of_root(at, EBUSY) || of_root(to, EBUSY)))
		error = EBUSY;
	if (error) {
		errno = error;
		return -1;
	}
	error = asking_begin(&a, at->text);
	if (error)
		return asking_end(&a, error);
	do
		error = fathom_fwd_rename(a.client, asking_from(&a, at), asking_below(&a, at),
					  asking_from(&a, to), asking_below(&a, to), flags,
					  &a.hints);
	while (asking_again(&a, at, to, &error));
	return asking_end(&a, error);
}

int forward_rename(const struct place *at, const struct place *to)
{
	return forward_renameat2(at, to, 0);
}

int forward_linkat(const struct place *at, const struct place *to, int flags)
{
	int nofollow = flags & AT_SYMLINK_FOLLOW ? 0 : AT_SYMLINK_NOFOLLOW, error;
	struct fathom_fwd_handle handle;
	struct asking a;

	if (flags & ~(AT_SYMLINK_FOLLOW | AT_EMPTY_PATH)) {
		errno = EINVAL;
		return -1;
	}
	error = place_pair_error(at, to);
	if (error) {
		errno = error;
		return -1;
	}
	error = asking_begin(&a, to->text);
	if (!error)
		error = look_up(&a, at, nofollow | (flags & AT_EMPTY_PATH), &handle, NULL);
	if (!at->by_handle)
		asking_about(&a, &handle, asking_path(&a, at));
	if (error)
		return asking_end(&a, error);
	a.from_root = a.follows = false; /* that was of the file */
	a.instead[0].of = NULL;
	do
		error = fathom_fwd_link(a.client, &handle, asking_from(&a, to),
					asking_below(&a, to), NULL, &a.hints);
	while (asking_again(&a, to, NULL, &error));
	return asking_end(&a, error);
}

int forward_link(const struct place *at, const struct place *to)
{
	return forward_linkat(at, to, 0);
}

int forward_symlink(const struct place *at, const char *target)
{
	struct asking a;
	int error = asking_begin(&a, at->text);

	if (!error)
		error = of_root(at, EEXIST);
	if (!error && strlen(target) >= PATH_MAX)
		error = ENAMETOOLONG;
	if (error)
		return asking_end(&a, error);
	do
		error = fathom_fwd_symlink(a.client, asking_from(&a, at), asking_below(&a, at),
					   target, NULL, NULL, &a.hints);
	while (asking_again(&a, at, NULL, &error));
	return asking_end(&a, error);
}

static int read_target(struct asking *a, const struct place *at, char *target)
{
	struct fathom_fwd_handle handle;
	struct fathom_fwd_attr attr;
	int flags = AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH;
	int error;

	if (at->by_number) { /* the link is the kernel's, to what programs call the file */
		int length =
			snprintf(target, PATH_MAX, "%s/%s", settings()->prefix[0].path, at->text);

		return length < PATH_MAX ? 0 : ENAMETOOLONG;
	}
	error = look_up(a, at, flags, &handle, &attr);
	if (!error && !S_ISLNK(attr.mode))
		error = EINVAL;
	if (!at->by_handle)
		asking_about(a, &handle, asking_path(a, at));
	return error ? error : fathom_fwd_readlink(a->client, &handle, target, PATH_MAX, &a->hints);
}

ssize_t forward_readlink(const struct place *at, char *buf, size_t room)
{
	char target[PATH_MAX];
	struct asking a;
	size_t length;
	int error = asking_begin(&a, at->text);

	if (!error && !room)
		error = EINVAL;
	if (!error)
		error = read_target(&a, at, target);
	if (asking_end(&a, error))
		return -1;
	length = strlen(target);
	length = length < room ? length : room;
	memcpy(buf, target, length);
	return (ssize_t)length;
}

char *forward_realpath(const struct place *at, char *resolved)
{
	char real[PATH_MAX], whole[2 * PATH_MAX];
	struct fathom_fwd_attr attr;
	struct asking a;
	int error = asking_begin(&a, at->text);

	if (!error)
		error = name_without_links(&a, at, real);
	if (!error && at->slash)
		error = fathom_fwd_lookup(a.client, NULL, real, 0, NULL, &attr, &a.hints);
	if (!error && at->slash && !S_ISDIR(attr.mode))
		error = ENOTDIR;
	if (asking_end(&a, error))
		return NULL;
	snprintf(whole, sizeof(whole), "%.*s%s%s", (int)place_prefix(at), at->text,
		 *real ? "/" : "", real);
	if (strlen(whole) >= PATH_MAX) {
		errno = ENAMETOOLONG;
		return NULL;
	}
	return resolved ? strcpy(resolved, whole) : strdup(whole);
}

int forward_mknod(const struct place *at, mode_t mode, dev_t device)
{
	struct asking a;
	int error;

	(void)device;
	if (mode & S_IFMT && !S_ISREG(mode))
		return skin_refuse("mknod", true);
	error = asking_begin(&a, at->text);
	if (!error)
		error = of_root(at, EEXIST);
	if (error)
		return asking_end(&a, error);
	do
		error = fathom_fwd_create(a.client, asking_from(&a, at), asking_below(&a, at),
					  mode & ~mask_now() & 07777, NULL, NULL, &a.hints);
	while (asking_again(&a, at, NULL, &error));
	return asking_end(&a, error);
}
