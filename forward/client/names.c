/* fathom_fwd.h: names, directories, attributes. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "call.h"

enum {
	FIELDS = 160,     /* more than the fields of any request here but its paths */
	ENTRY_BYTES = 19, /* of an entry without a name */
	ENTRIES = 1024,   /* asked for at a time */
};

static void take_attr(struct call *k, struct fathom_fwd_attr *attr)
{
	struct fathom_fwd_attr got = get_attr(&k->r);

	if (attr && !k->r.bad)
		*attr = got;
}

/* Of lookup, open, mkdir, symlink: what a name leads to. */
static void take_file(struct call *k, struct fathom_fwd_handle *handle,
		      struct fathom_fwd_attr *attr)
{
	struct fathom_fwd_handle got = get_handle(&k->r);

	take_attr(k, attr);
	if (handle && !k->r.bad)
		*handle = got;
}

int fathom_fwd_lookup(struct fathom_fwd *client, const struct fathom_fwd_handle *dir,
		      const char *path, uint32_t flags, struct fathom_fwd_handle *handle,
		      struct fathom_fwd_attr *attr, struct fathom_fwd_hints *hints)
{
	struct call k;

	if (!call_begin(&k, client, hints, FWD_OP_LOOKUP, dir, FIELDS + strlen(path), 0)) {
		put_lookup(&k.w, or_root(dir),
			   flags & FATHOM_FWD_NOFOLLOW ? FWD_LOOKUP_NOFOLLOW : 0, path);
		if (!call_ask(&k))
			take_file(&k, handle, attr);
	}
	return call_end(&k);
}

int fathom_fwd_open(struct fathom_fwd *client, const struct fathom_fwd_handle *dir,
		    const char *path, uint32_t flags, uint32_t mode,
		    struct fathom_fwd_handle *handle, struct fathom_fwd_attr *attr,
		    struct fathom_fwd_hints *hints)
{
	struct call k;

	if (!call_begin(&k, client, hints, FWD_OP_OPEN, dir, FIELDS + strlen(path), 0)) {
		put_open(&k.w, or_root(dir), flags, mode, path);
		if (!call_ask(&k)) {
			take_file(&k, handle, attr);
			get_u8(&k.r); /* created */
		}
	}
	return call_end(&k);
}

/* Operations of a handle alone. */
static int about_handle(struct call *k, struct fathom_fwd *client,
			const struct fathom_fwd_handle *handle, struct fathom_fwd_hints *hints,
			uint16_t op)
{
	if (call_begin(k, client, hints, op, handle, FIELDS, 0))
		return k->code;
	put_handle(&k->w, or_root(handle));
	return call_ask(k);
}

int fathom_fwd_release(struct fathom_fwd *client, const struct fathom_fwd_handle *handle,
		       struct fathom_fwd_hints *hints)
{
	struct call k;

	about_handle(&k, client, handle, hints, FWD_OP_RELEASE);
	return call_end(&k);
}

int fathom_fwd_create(struct fathom_fwd *client, const struct fathom_fwd_handle *dir,
		      const char *path, uint32_t mode, struct fathom_fwd_handle *handle,
		      struct fathom_fwd_attr *attr, struct fathom_fwd_hints *hints)
{
	uint32_t flags = FATHOM_FWD_CREATE | FATHOM_FWD_EXCLUSIVE | FATHOM_FWD_WRITE;
	struct fathom_fwd_handle created;
	int error = fathom_fwd_open(client, dir, path, flags, mode, &created, attr, hints);

	if (error)
		return error;
	if (handle)
		*handle = created;
	return fathom_fwd_release(client, &created, hints);
}

int fathom_fwd_remove(struct fathom_fwd *client, const struct fathom_fwd_handle *dir,
		      const char *path, uint32_t flags, struct fathom_fwd_hints *hints)
{
	uint16_t op = flags & FATHOM_FWD_DIRECTORY ? FWD_OP_RMDIR : FWD_OP_UNLINK;
	struct call k;

	if (!call_begin(&k, client, hints, op, dir, FIELDS + strlen(path), 0)) {
		put_path(&k.w, or_root(dir), path);
		call_ask(&k);
	}
	return call_end(&k);
}

int fathom_fwd_rename(struct fathom_fwd *client, const struct fathom_fwd_handle *dir,
		      const char *path, const struct fathom_fwd_handle *to_dir, const char *to_path,
		      uint32_t flags, struct fathom_fwd_hints *hints)
{
	size_t room = FIELDS + strlen(path) + strlen(to_path);
	struct call k;

	if (!call_begin(&k, client, hints, FWD_OP_RENAME, dir, room, 0)) {
		put_rename(&k.w, or_root(dir), path, or_root(to_dir), to_path, flags);
		call_ask(&k);
	}
	return call_end(&k);
}

int fathom_fwd_link(struct fathom_fwd *client, const struct fathom_fwd_handle *file,
		    const struct fathom_fwd_handle *dir, const char *path,
		    struct fathom_fwd_attr *attr, struct fathom_fwd_hints *hints)
{
	struct call k;

	if (!call_begin(&k, client, hints, FWD_OP_LINK, file, FIELDS + strlen(path), 0)) {
		put_handle(&k.w, or_root(file));
		put_path(&k.w, or_root(dir), path);
		if (!call_ask(&k))
			take_attr(&k, attr);
	}
	return call_end(&k);
}

int fathom_fwd_symlink(struct fathom_fwd *client, const struct fathom_fwd_handle *dir,
		       const char *path, const char *target, struct fathom_fwd_handle *handle,
		       struct fathom_fwd_attr *attr, struct fathom_fwd_hints *hints)
{
	size_t room = FIELDS + strlen(path) + strlen(target);
	struct call k;

	if (!call_begin(&k, client, hints, FWD_OP_SYMLINK, dir, room, 0)) {
		put_path(&k.w, or_root(dir), path);
		put_text(&k.w, target);
		if (!call_ask(&k))
			take_file(&k, handle, attr);
	}
	return call_end(&k);
}

int fathom_fwd_readlink(struct fathom_fwd *client, const struct fathom_fwd_handle *handle,
			char *target, size_t size, struct fathom_fwd_hints *hints)
{
	struct call k;
	struct text text;

	if (about_handle(&k, client, handle, hints, FWD_OP_READLINK))
		return call_end(&k);
	text = get_text(&k.r);
	if (size)
		snprintf(target, size, "%.*s", text.length, text.at);
	if (text.length >= size)
		call_fail(&k, ENAMETOOLONG, "the target is longer than there is room");
	return call_end(&k);
}

int fathom_fwd_mkdir(struct fathom_fwd *client, const struct fathom_fwd_handle *dir,
		     const char *path, uint32_t mode, struct fathom_fwd_handle *handle,
		     struct fathom_fwd_attr *attr, struct fathom_fwd_hints *hints)
{
	struct call k;

	if (!call_begin(&k, client, hints, FWD_OP_MKDIR, dir, FIELDS + strlen(path), 0)) {
		put_handle(&k.w, or_root(dir));
		put_u32(&k.w, mode);
		put_text(&k.w, path);
		if (!call_ask(&k))
			take_file(&k, handle, attr);
	}
	return call_end(&k);
}

int fathom_fwd_mknod(struct fathom_fwd *client, const struct fathom_fwd_handle *dir,
		     const char *path, uint32_t mode, uint64_t rdev,
		     struct fathom_fwd_handle *handle, struct fathom_fwd_attr *attr,
		     struct fathom_fwd_hints *hints)
{
	struct call k;

	if (!call_begin(&k, client, hints, FWD_OP_MKNOD, dir, FIELDS + strlen(path), 0)) {
		put_handle(&k.w, or_root(dir));
		put_u32(&k.w, mode);
		put_u64(&k.w, rdev);
		put_text(&k.w, path);
		if (!call_ask(&k))
			take_file(&k, handle, attr);
	}
	return call_end(&k);
}

/* Entries of one reply; 0, or what the visitor returned. */
static int visit_entries(struct reader *r, uint64_t *cookie,
			 int (*visit)(void *with, const struct fathom_fwd_entry *entry), void *with)
{
	uint32_t n = get_count(r, FWD_LIMIT_ENTRIES, ENTRY_BYTES);
	int stop = 0;

	for (uint32_t i = 0; i < n && !stop; i++) {
		struct text text;
		struct fathom_fwd_entry entry = get_entry(r, &text);
		char name[NAME_MAX + 1];

		if (text.length > NAME_MAX)
			r->bad = true;
		if (r->bad)
			return 0;
		memcpy(name, text.at, text.length);
		name[text.length] = 0;
		entry.name = name;
		*cookie = entry.cookie;
		stop = visit(with, &entry);
	}
	return stop;
}

int fathom_fwd_readdir(struct fathom_fwd *client, const struct fathom_fwd_handle *dir,
		       uint64_t cookie,
		       int (*visit)(void *with, const struct fathom_fwd_entry *entry), void *with,
		       struct fathom_fwd_hints *hints)
{
	bool more = true;

	while (more) {
		uint64_t from = cookie;
		struct call k;
		int stop = 0, error;

		if (!call_begin(&k, client, hints, FWD_OP_READDIR, dir, FIELDS, 0)) {
			put_readdir(&k.w, or_root(dir), cookie, ENTRIES);
			if (!call_ask(&k)) {
				stop = visit_entries(&k.r, &cookie, visit, with);
				more = k.request->reply_head.flags & FWD_FLAG_MORE;
			}
		}
		if (stop)
			k.r.at = NULL; /* the rest is not read */
		error = call_end(&k);
		if (error || stop)
			return error ? error : stop;
		if (more && cookie == from)
			return EPROTO; /* it would never end */
	}
	return 0;
}

int fathom_fwd_getattr(struct fathom_fwd *client, const struct fathom_fwd_handle *handle,
		       struct fathom_fwd_attr *attr, struct fathom_fwd_hints *hints)
{
	struct call k;

	if (!about_handle(&k, client, handle, hints, FWD_OP_GETATTR))
		take_attr(&k, attr);
	return call_end(&k);
}

int fathom_fwd_setattr(struct fathom_fwd *client, const struct fathom_fwd_handle *handle,
		       uint32_t which, struct fathom_fwd_attr *attr, struct fathom_fwd_hints *hints)
{
	struct call k;

	if (!call_begin(&k, client, hints, FWD_OP_SETATTR, handle, FIELDS, 0)) {
		put_setattr(&k.w, or_root(handle), which, attr);
		if (!call_ask(&k))
			take_attr(&k, attr);
	}
	return call_end(&k);
}

int fathom_fwd_resize(struct fathom_fwd *client, const struct fathom_fwd_handle *handle,
		      uint64_t size, struct fathom_fwd_hints *hints)
{
	struct fathom_fwd_attr attr = {.size = size};

	return fathom_fwd_setattr(client, handle, FATHOM_FWD_SET_SIZE, &attr, hints);
}

int fathom_fwd_seek(struct fathom_fwd *client, const struct fathom_fwd_handle *handle,
		    uint64_t offset, enum fathom_fwd_seek what, uint64_t *place,
		    struct fathom_fwd_hints *hints)
{
	struct call k;

	if (!call_begin(&k, client, hints, FWD_OP_SEEK, handle, FIELDS, 0)) {
		put_seek(&k.w, or_root(handle), offset, what);
		if (!call_ask(&k))
			*place = get_u64(&k.r);
	}
	return call_end(&k);
}

int fathom_fwd_allocate(struct fathom_fwd *client, const struct fathom_fwd_handle *handle,
			uint32_t mode, uint64_t offset, uint64_t length,
			struct fathom_fwd_hints *hints)
{
	struct call k;

	if (!call_begin(&k, client, hints, FWD_OP_ALLOCATE, handle, FIELDS, 0)) {
		put_allocate(&k.w, or_root(handle), mode, offset, length);
		call_ask(&k);
	}
	return call_end(&k);
}

int fathom_fwd_statfs(struct fathom_fwd *client, const struct fathom_fwd_handle *handle,
		      struct fathom_fwd_statfs *statfs, struct fathom_fwd_hints *hints)
{
	struct call k;

	if (!about_handle(&k, client, handle, hints, FWD_OP_STATFS))
		*statfs = get_statfs(&k.r);
	return call_end(&k);
}
