/* fathom_fwd.h: extended attributes. */
#include <errno.h>
#include <string.h>

#include "call.h"

enum { FIELDS = 96 /* of these requests, but the name and a value */ };

/* A value or a list of names: as much as there is room for, its length in `length`; ERANGE: it is longer. */
static void take_bytes(struct call *k, void *bytes, size_t room, size_t *length)
{
	const uint8_t *all = get_rest(&k->r, length);

	if (room && *length > room)
		call_fail(k, ERANGE, "it is longer than there is room");
	else if (room && *length)
		memcpy(bytes, all, *length);
}

int fathom_fwd_getxattr(struct fathom_fwd *client, const struct fathom_fwd_handle *handle,
			const char *name, void *value, size_t room, size_t *length,
			struct fathom_fwd_hints *hints)
{
	struct call k;

	if (!call_begin(&k, client, hints, FWD_OP_GETXATTR, handle, FIELDS + strlen(name), 0)) {
		put_path(&k.w, or_root(handle), name);
		if (!call_ask(&k))
			take_bytes(&k, value, room, length);
	}
	return call_end(&k);
}

int fathom_fwd_listxattr(struct fathom_fwd *client, const struct fathom_fwd_handle *handle,
			 char *names, size_t room, size_t *length, struct fathom_fwd_hints *hints)
{
	struct call k;

	if (!call_begin(&k, client, hints, FWD_OP_LISTXATTR, handle, FIELDS, 0)) {
		put_handle(&k.w, or_root(handle));
		if (!call_ask(&k))
			take_bytes(&k, names, room, length);
	}
	return call_end(&k);
}

int fathom_fwd_setxattr(struct fathom_fwd *client, const struct fathom_fwd_handle *handle,
			const char *name, const void *value, size_t length, uint32_t flags,
			struct fathom_fwd_hints *hints)
{
	size_t sent = length <= FWD_LIMIT_XATTR ? length : 0;
	struct call k;

	if (call_begin(&k, client, hints, FWD_OP_SETXATTR, handle, FIELDS + strlen(name) + sent, 0))
		return call_end(&k);
	put_setxattr(&k.w, or_root(handle), name, flags);
	call_hints(&k);
	put_bytes(&k.w, value, sent);
	if (sent < length)
		call_fail(&k, E2BIG, "a value has at most 65,536 bytes");
	else if (!call_post(&k))
		call_wait(&k);
	return call_end(&k);
}

int fathom_fwd_removexattr(struct fathom_fwd *client, const struct fathom_fwd_handle *handle,
			   const char *name, struct fathom_fwd_hints *hints)
{
	struct call k;

	if (!call_begin(&k, client, hints, FWD_OP_REMOVEXATTR, handle, FIELDS + strlen(name), 0)) {
		put_path(&k.w, or_root(handle), name);
		call_ask(&k);
	}
	return call_end(&k);
}
