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
	do
		error = fathom_fwd_lookup(a->client, asking_from(a, at), asking_below(a, at),
					  follow, handle, &got, &a->hints);
	while (asking_again(a, at, NULL, error));
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
	while (asking_again(&a, at, NULL, error));
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
	while (asking_again(&a, at, NULL, error));
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

/* Both or none: between a forwarded and another file system nothing is moved. */
static int both(const struct place *at, const struct place *to)
{
	if (!at->path || !to->path)
		return EXDEV;
	return of_root(at, EBUSY) ? EBUSY : of_root(to, EBUSY);
}

int forward_renameat2(const struct place *at, const struct place *to, unsigned int flags)
{
	struct asking a;
	int error = both(at, to);

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
	while (asking_again(&a, at, to, error));
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
	if (!at->path || !to->path) {
		errno = EXDEV;
		return -1;
	}
	error = asking_begin(&a, to->text);
	if (!error)
		error = look_up(&a, at, nofollow | (flags & AT_EMPTY_PATH), &handle, NULL);
	if (!at->by_handle)
		asking_about(&a, &handle, at->path);
	if (error)
		return asking_end(&a, error);
	a.from_root = false; /* that was of the file */
	do
		error = fathom_fwd_link(a.client, &handle, asking_from(&a, to),
					asking_below(&a, to), NULL, &a.hints);
	while (asking_again(&a, to, NULL, error));
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
	if (error)
		return asking_end(&a, error);
	do
		error = fathom_fwd_symlink(a.client, asking_from(&a, at), asking_below(&a, at),
					   target, NULL, NULL, &a.hints);
	while (asking_again(&a, at, NULL, error));
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
		asking_about(a, &handle, at->path);
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

/* ---- paths without links ---- */

enum { LINKS = 40 /* that Linux follows */ };

/* A path that is walked: what was walked is without links, . and .. */
struct walk {
	char done[PATH_MAX], left[PATH_MAX];
	int links;
};

/* The link that `done` ends in is replaced by what it says. 0 or an errno. */
static int walk_link(struct asking *a, struct walk *w, const struct fathom_fwd_handle *link)
{
	char target[PATH_MAX], left[PATH_MAX];
	char *last = strrchr(w->done, '/');
	int error = fathom_fwd_readlink(a->client, link, target, PATH_MAX, &a->hints);

	if (error)
		return error;
	if (++w->links > LINKS)
		return ELOOP;
	if (*target == '/')
		return EXDEV;
	if (snprintf(left, sizeof(left), "%s/%s", target, w->left) >= (int)sizeof(left))
		return ENAMETOOLONG;
	strcpy(w->left, left);
	*(last ? last : w->done) = 0;
	return 0;
}

static int walk_part(struct asking *a, struct walk *w, const char *part)
{
	size_t have = strlen(w->done), length = strlen(part);
	struct fathom_fwd_handle handle;
	struct fathom_fwd_attr attr;
	int error;

	if (have + length + 2 > sizeof(w->done))
		return ENAMETOOLONG;
	sprintf(w->done + have, "%s%s", have ? "/" : "", part);
	error = fathom_fwd_lookup(a->client, NULL, w->done, FATHOM_FWD_NOFOLLOW, &handle, &attr,
				  &a->hints);
	if (error)
		return error;
	if (S_ISLNK(attr.mode))
		return walk_link(a, w, &handle);
	return *w->left && !S_ISDIR(attr.mode) ? ENOTDIR : 0;
}

int name_without_links(struct asking *a, const char *path, char *real)
{
	struct walk w = {.links = 0};
	int error = 0;

	strcpy(w.left, path);
	while (!error && *w.left) {
		size_t length = strcspn(w.left, "/"), behind = length + (w.left[length] == '/');
		char part[PATH_MAX], *last;

		memcpy(part, w.left, length);
		part[length] = 0;
		memmove(w.left, w.left + behind, strlen(w.left + behind) + 1);
		if (!strcmp(part, "..")) {
			last = strrchr(w.done, '/');
			*(last ? last : w.done) = 0;
		} else if (length && strcmp(part, ".")) {
			error = walk_part(a, &w, part);
		}
	}
	strcpy(real, w.done);
	return error;
}

char *forward_realpath(const struct place *at, char *resolved)
{
	char real[PATH_MAX], whole[2 * PATH_MAX];
	struct asking a;
	int error = asking_begin(&a, at->text);

	if (!error)
		error = name_without_links(&a, at->path, real);
	if (!error && at->slash)
		error = fathom_fwd_lookup(a.client, NULL, at->path, 0, NULL, NULL, &a.hints);
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
	while (asking_again(&a, at, NULL, error));
	return asking_end(&a, error);
}
