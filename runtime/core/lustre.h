/* On which OSTs of Lustre a file lies, by its layout. */
#ifndef FATHOM_LUSTRE_H
#define FATHOM_LUSTRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct lustre_layout {
	uint32_t stripe_bytes; /* 0: not the same in all components */
	size_t length;         /* of `osts` */
	char osts[4096]; /* numbers with commas between; the same one again for each stripe on it */
};

/* Reads the value of `lustre.lov`: what components have objects of their own. False: it has none, is damaged or of an
 * unknown kind, or has too many OSTs for `osts`. */
bool lustre_read(const void *value, size_t bytes, struct lustre_layout *out);

struct statx;
bool lustre_has(int fd, const struct statx *st); /* a regular file on Lustre? */
/* Asks for the layout of such a file. The answer lies in memory of its own, for lustre_release(); NULL: none. */
struct lustre_layout *lustre_layout_of(int fd);
void lustre_release(struct lustre_layout *layout);

#endif
