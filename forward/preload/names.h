/* What a path leads to. */
#ifndef FATHOM_SKIN_NAMES_H
#define FATHOM_SKIN_NAMES_H

#include "skin.h"

/* flags: AT_SYMLINK_NOFOLLOW, AT_EMPTY_PATH, and others that change nothing here. `handle` and `attr` may be NULL.
 * 0, or -1 and errno. */
int name_attributes(const struct place *at, int flags, struct fathom_fwd_handle *handle,
		    struct fathom_fwd_attr *attr);

/* 0, or -1 and EINVAL: the flags are not of these two, and `more`. */
int name_flags(int flags, int more);

/* ---- links.c ---- */

/* Where a path leads from the server's root, without links, . and ..: in `real` of PATH_MAX. 0 or an errno. */
int name_without_links(struct asking *a, const struct place *at, char *real);
/* The server found that links lead out of its directory: are they absolute ones that lead below the prefix? Then a->instead
 * says where; `to` may be NULL. Else `error` is what the call ends with. */
bool name_by_absolute_links(struct asking *a, const struct place *at, const struct place *to,
			    int *error);

#endif
