/* Links are followed here where all of them are to be gone, and where the server cannot follow one: an absolute link is the
 * program's, and may lead below the prefix. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "names.h"

enum { LINKS = 40 /* that Linux follows */ };

/* What becomes of the last part of a path. */
enum last { FOLLOWED, FOLLOWED_IF_THERE, LEFT };

/* A path that is walked: what was walked is without links, . and .. */
struct walk {
	const struct prefix *prefix;
	char done[PATH_MAX], left[PATH_MAX];
	int links;
	bool absolute; /* one of them was */
};

/* The link that `done` ends in is replaced by what it says. 0 or an errno. */
static int walk_link(struct asking *a, struct walk *w, const struct fathom_fwd_handle *link)
{
	char target[PATH_MAX], left[PATH_MAX];
	const char *said = target;
	char *last = strrchr(w->done, '/');
	int error = fathom_fwd_readlink(a->client, link, target, PATH_MAX, &a->hints);

	if (error)
		return error;
	if (++w->links > LINKS)
		return ELOOP;
	if (*target == '/') {
		if (prefix_of(target, strlen(target)) != w->prefix)
			return EXDEV;
		said = target + w->prefix->length;
		w->absolute = true;
		last = w->done;
	}
	if (snprintf(left, sizeof(left), "%s%s%s", said, *w->left ? "/" : "", w->left) >=
	    (int)sizeof(left))
		return ENAMETOOLONG;
	strcpy(w->left, left);
	*(last ? last : w->done) = 0;
	return 0;
}

static int walk_part(struct asking *a, struct walk *w, const char *part, enum last last)
{
	size_t have = strlen(w->done), length = strlen(part);
	struct fathom_fwd_handle handle;
	struct fathom_fwd_attr attr;
	bool is_last = !w->left[strspn(w->left, "/")];
	int error;

	if (have + length + 2 > sizeof(w->done))
		return ENAMETOOLONG;
	sprintf(w->done + have, "%s%s", have ? "/" : "", part);
	if (is_last && last == LEFT)
		return 0;
	error = fathom_fwd_lookup(a->client, NULL, w->done, FATHOM_FWD_NOFOLLOW, &handle, &attr,
				  &a->hints);
	if (error)
		return is_last && last == FOLLOWED_IF_THERE && error == ENOENT ? 0 : error;
	if (S_ISLNK(attr.mode))
		return walk_link(a, w, &handle);
	return !is_last && !S_ISDIR(attr.mode) ? ENOTDIR : 0;
}

static int walk(struct asking *a, struct walk *w, const struct place *at, enum last last)
{
	int error = 0;

	*w = (struct walk){.prefix = prefix_of(at->text, strlen(at->text))};
	strcpy(w->left, at->path);
	while (!error && *w->left) {
		size_t length = strcspn(w->left, "/"), behind = length + (w->left[length] == '/');
		char part[PATH_MAX], *end;

		memcpy(part, w->left, length);
		part[length] = 0;
		memmove(w->left, w->left + behind, strlen(w->left + behind) + 1);
		if (!strcmp(part, "..")) {
			error = w->links && !*w->done ? EXDEV : 0; /* a link led out */
			end = strrchr(w->done, '/');
			*(end ? end : w->done) = 0;
		} else if (length && strcmp(part, ".")) {
			error = walk_part(a, w, part, last);
		}
	}
	return error;
}

int name_without_links(struct asking *a, const struct place *at, char *real)
{
	struct walk w;
	int error = walk(a, &w, at, FOLLOWED);

	strcpy(real, w.done);
	return error;
}

bool name_by_absolute_links(struct asking *a, const struct place *at, const struct place *to,
			    int *error)
{
	static _Thread_local char path[2][PATH_MAX]; /* signals wait */
	const struct place *const of[2] = {at, to};
	bool absolute = false;
	int code = 0;

	for (int i = 0; i < 2 && of[i] && !code; i++) {
		struct walk w;

		code = walk(a, &w, of[i], a->follows ? FOLLOWED_IF_THERE : LEFT);
		absolute |= w.absolute;
		if (!code && snprintf(path[i], PATH_MAX, "%s%s", w.done,
				      of[i]->slash && *w.done ? "/" : "") >= PATH_MAX)
			code = ENAMETOOLONG;
		a->instead[i].path = path[i];
	}
	if (code || !absolute) {
		*error = code ? code : EXDEV;
		return false;
	}
	for (int i = 0; i < 2; i++)
		a->instead[i].of = of[i];
	return true;
}
