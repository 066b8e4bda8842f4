/* Extended attributes. Access-control lists are none of them: the kernel would check by the mode alone what they grant. */
#include <stdlib.h>
#include <string.h>

#include "mount.h"

static bool is_acl(const char *name)
{
	return !strncmp(name, "system.posix_acl_", strlen("system.posix_acl_"));
}

/* `bytes` of `length` are the answer, or, where no room was given, their length is. */
static void give_bytes(fuse_req_t req, struct ask *a, const char *bytes, size_t room, size_t length,
		       int error)
{
	error = ask_end(a, error);
	if (error)
		fuse_reply_err(req, error);
	else if (room)
		fuse_reply_buf(req, bytes, length);
	else
		fuse_reply_xattr(req, length);
}

void do_getxattr(fuse_req_t req, fuse_ino_t ino, const char *name, size_t room)
{
	char *bytes = malloc(room + 1);
	size_t length = 0;
	struct ask a;
	int error = bytes ? 0 : ENOMEM;

	ask_begin(&a, ino);
	if (!error && is_acl(name))
		error = EOPNOTSUPP;
	if (!error)
		error = fathom_fwd_getxattr(mount_point.client, node_handle(a.node), name, bytes,
					    room, &length, &a.hints);
	give_bytes(req, &a, bytes, room, length, error);
	free(bytes);
}

/* The names without those of access-control lists; how long they are. */
static size_t without_acls(char *names, size_t length)
{
	size_t left = 0;

	for (size_t at = 0, next; at < length; at = next) {
		next = at + strnlen(names + at, length - at) + 1;
		next = next < length ? next : length;
		if (is_acl(names + at))
			continue;
		memmove(names + left, names + at, next - at);
		left += next - at;
	}
	return left;
}

void do_listxattr(fuse_req_t req, fuse_ino_t ino, size_t room)
{
	enum { MOST = 65536 };
	char *names = calloc(1, MOST + 1);
	size_t length = 0;
	struct ask a;
	int error = names ? 0 : ENOMEM;

	ask_begin(&a, ino);
	if (!error)
		error = fathom_fwd_listxattr(mount_point.client, node_handle(a.node), names, MOST,
					     &length, &a.hints);
	if (!error)
		length = without_acls(names, length);
	if (!error && room && length > room)
		error = ERANGE;
	give_bytes(req, &a, names, room, length, error);
	free(names);
}

void do_setxattr(fuse_req_t req, fuse_ino_t ino, const char *name, const char *value, size_t length,
		 int flags)
{
	struct ask a;
	int error = is_acl(name) ? EOPNOTSUPP : 0;

	ask_begin(&a, ino);
	if (!error)
		error = fathom_fwd_setxattr(mount_point.client, node_handle(a.node), name, value,
					    length, (uint32_t)flags, &a.hints);
	fuse_reply_err(req, ask_end(&a, error));
}

void do_removexattr(fuse_req_t req, fuse_ino_t ino, const char *name)
{
	struct ask a;
	int error = is_acl(name) ? EOPNOTSUPP : 0;

	ask_begin(&a, ino);
	if (!error)
		error = fathom_fwd_removexattr(mount_point.client, node_handle(a.node), name,
					       &a.hints);
	fuse_reply_err(req, ask_end(&a, error));
}
