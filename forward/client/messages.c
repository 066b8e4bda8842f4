/* Bodies of requests written, of replies read. */
#include "messages.h"

void put_hello(struct writer *w, const uint8_t key[KEY_BYTES], const uint8_t nonce[NONCE_BYTES],
	       const char *name)
{
	put_u16(w, FWD_FRAME_VERSION);
	put_u16(w, FWD_FRAME_VERSION);
	put_bytes(w, key, KEY_BYTES);
	put_bytes(w, nonce, NONCE_BYTES);
	put_text(w, name);
}

void put_handle(struct writer *w, const struct fathom_fwd_handle *handle)
{
	put_bytes(w, handle->bytes, sizeof(handle->bytes));
}

void put_path(struct writer *w, const struct fathom_fwd_handle *dir, const char *path)
{
	put_handle(w, dir);
	put_text(w, path);
}

void put_lookup(struct writer *w, const struct fathom_fwd_handle *dir, uint32_t flags,
		const char *path)
{
	put_handle(w, dir);
	put_u32(w, flags);
	put_text(w, path);
}

void put_open(struct writer *w, const struct fathom_fwd_handle *dir, uint32_t flags, uint32_t mode,
	      const char *path)
{
	put_handle(w, dir);
	put_u32(w, flags);
	put_u32(w, mode);
	put_text(w, path);
}

static void put_time(struct writer *w, struct fathom_fwd_time time)
{
	put_u64(w, (uint64_t)time.seconds);
	put_u32(w, time.nanoseconds);
}

/* Fields that are not asked for are zeros on the wire. */
void put_setattr(struct writer *w, const struct fathom_fwd_handle *handle, uint32_t which,
		 const struct fathom_fwd_attr *attr)
{
	static const struct fathom_fwd_time none;

	put_handle(w, handle);
	put_u32(w, which);
	put_u32(w, which & FWD_SET_MODE ? attr->mode : 0);
	put_u32(w, which & FWD_SET_UID ? attr->uid : 0);
	put_u32(w, which & FWD_SET_GID ? attr->gid : 0);
	put_u64(w, which & FWD_SET_SIZE ? attr->size : 0);
	put_time(w, which & FWD_SET_ATIME ? attr->atime : none);
	put_time(w, which & FWD_SET_MTIME ? attr->mtime : none);
}

void put_rename(struct writer *w, const struct fathom_fwd_handle *dir, const char *path,
		const struct fathom_fwd_handle *to, const char *to_path, uint32_t flags)
{
	put_path(w, dir, path);
	put_path(w, to, to_path);
	put_u32(w, flags);
}

void put_readdir(struct writer *w, const struct fathom_fwd_handle *dir, uint64_t cookie,
		 uint32_t entries)
{
	put_handle(w, dir);
	put_u64(w, cookie);
	put_u32(w, entries);
}

void put_extents(struct writer *w, const struct fathom_fwd_handle *handle,
		 const struct fathom_fwd_extent *extents, uint32_t n)
{
	put_handle(w, handle);
	put_u32(w, n);
	for (uint32_t i = 0; i < n; i++) {
		put_u64(w, extents[i].offset);
		put_u64(w, extents[i].length);
	}
}

void put_file_number(struct writer *w, const struct fathom_fwd_handle *handle, uint64_t number)
{
	put_handle(w, handle);
	put_u64(w, number);
}

void put_seek(struct writer *w, const struct fathom_fwd_handle *handle, uint64_t offset,
	      uint8_t what)
{
	put_file_number(w, handle, offset);
	put_u8(w, what);
}

void put_allocate(struct writer *w, const struct fathom_fwd_handle *handle, uint32_t mode,
		  uint64_t offset, uint64_t length)
{
	put_handle(w, handle);
	put_u32(w, mode);
	put_u64(w, offset);
	put_u64(w, length);
}

void put_setxattr(struct writer *w, const struct fathom_fwd_handle *handle, const char *name,
		  uint32_t flags)
{
	put_path(w, handle, name);
	put_u32(w, flags);
}

void put_commit(struct writer *w, const struct fathom_fwd_handle *handle, uint8_t level)
{
	put_handle(w, handle);
	put_u8(w, level);
}

void put_call(struct writer *w, const struct fathom_fwd_handle *handle, const char *name,
	      uint32_t room)
{
	put_handle(w, handle);
	put_text(w, name);
	put_u32(w, room);
}

void put_claim(struct writer *w, const struct fathom_fwd_handle *handle,
	       const struct fathom_fwd_lock *lock)
{
	put_handle(w, handle);
	put_u64(w, lock->session);
	put_u64(w, lock->owner);
	put_u32(w, lock->flags);
	put_u8(w, lock->mode);
	put_u32(w, lock->pid);
	put_u64(w, lock->start);
	put_u64(w, lock->length);
}

void put_hints(struct writer *w, const struct fathom_fwd_hint *hints, uint16_t n)
{
	if (n > FWD_LIMIT_HINTS)
		w->full = true;
	put_u16(w, n);
	for (uint16_t i = 0; i < n && !w->full; i++) {
		if (hints[i].length > FWD_LIMIT_HINT)
			w->full = true;
		put_u16(w, hints[i].key);
		put_u16(w, hints[i].length);
		put_bytes(w, hints[i].value, hints[i].length);
	}
}

struct session get_session(struct reader *r)
{
	struct session s;

	s.epoch = get_u64(r);
	s.window = get_u32(r);
	s.inline_bytes = get_u32(r);
	s.piece = get_u32(r);
	s.data = get_u64(r);
	s.lease = get_u32(r);
	s.deadline = get_u32(r);
	s.server = get_u32(r);
	s.servers = get_u32(r);
	s.name = get_text(r);
	return s;
}

struct fathom_fwd_handle get_handle(struct reader *r)
{
	struct fathom_fwd_handle handle = {{0}};
	const uint8_t *from = get_bytes(r, sizeof(handle.bytes));

	if (from)
		memcpy(handle.bytes, from, sizeof(handle.bytes));
	return handle;
}

static struct fathom_fwd_time get_time(struct reader *r)
{
	struct fathom_fwd_time time;

	time.seconds = (int64_t)get_u64(r);
	time.nanoseconds = get_u32(r);
	return time;
}

struct fathom_fwd_attr get_attr(struct reader *r)
{
	struct fathom_fwd_attr attr;

	attr.mode = get_u32(r);
	attr.nlink = get_u32(r);
	attr.uid = get_u32(r);
	attr.gid = get_u32(r);
	attr.blksize = get_u32(r);
	attr.rdev = get_u64(r);
	attr.dev = get_u64(r);
	attr.ino = get_u64(r);
	attr.size = get_u64(r);
	attr.blocks = get_u64(r);
	attr.atime = get_time(r);
	attr.mtime = get_time(r);
	attr.ctime = get_time(r);
	attr.birth = get_time(r);
	return attr;
}

struct fathom_fwd_statfs get_statfs(struct reader *r)
{
	struct fathom_fwd_statfs s;

	s.bsize = get_u64(r);
	s.frsize = get_u64(r);
	s.blocks = get_u64(r);
	s.bfree = get_u64(r);
	s.bavail = get_u64(r);
	s.files = get_u64(r);
	s.ffree = get_u64(r);
	s.namemax = get_u32(r);
	return s;
}

struct fathom_fwd_failed get_failed(struct reader *r)
{
	struct fathom_fwd_failed failed;

	failed.handle = get_handle(r);
	failed.seq = get_u64(r);
	failed.offset = get_u64(r);
	failed.length = get_u64(r);
	failed.code = (int)get_u32(r);
	return failed;
}

struct fathom_fwd_gap get_gap(struct reader *r)
{
	struct fathom_fwd_gap gap;

	gap.offset = get_u64(r);
	gap.length = get_u64(r);
	gap.client = get_u64(r);
	gap.seq = get_u64(r);
	gap.code = (int)get_u32(r);
	return gap;
}

struct fathom_fwd_lock get_claim(struct reader *r)
{
	struct fathom_fwd_lock lock;

	lock.session = get_u64(r);
	lock.owner = get_u64(r);
	lock.flags = get_u32(r);
	lock.mode = get_u8(r);
	lock.pid = get_u32(r);
	lock.start = get_u64(r);
	lock.length = get_u64(r);
	return lock;
}

struct fathom_fwd_entry get_entry(struct reader *r, struct text *name)
{
	struct fathom_fwd_entry entry = {.name = NULL};

	entry.cookie = get_u64(r);
	entry.ino = get_u64(r);
	entry.type = get_u8(r);
	*name = get_text(r);
	return entry;
}

struct failure get_failure(struct reader *r)
{
	struct failure failure;

	failure.offset = get_u64(r);
	failure.length = get_u64(r);
	failure.what = get_text(r);
	return failure;
}

uint32_t get_count(struct reader *r, uint32_t most, size_t item)
{
	uint32_t n = get_u32(r);

	if (!r->bad && (n > most || n > (size_t)(r->end - r->at) / item))
		r->bad = true;
	return r->bad ? 0 : n;
}

const uint8_t *get_hint(struct reader *r, uint16_t key, uint16_t length)
{
	const uint8_t *match = NULL;
	uint16_t n = get_u16(r);

	if (n > FWD_LIMIT_HINTS)
		r->bad = true;
	for (uint16_t i = 0; i < n && !r->bad; i++) {
		uint16_t this_key = get_u16(r), this_length = get_u16(r);
		const uint8_t *value = get_bytes(r, this_length);

		if (this_length > FWD_LIMIT_HINT)
			r->bad = true;
		if (value && this_key == key && this_length == length)
			match = value;
	}
	return r->bad ? NULL : match;
}

bool get_hint_u64(struct reader *r, uint16_t key, uint64_t number)
{
	uint16_t n = get_u16(r);
	bool match = false;

	for (uint16_t i = 0; i < n && !r->bad; i++) {
		uint16_t this_key = get_u16(r), length = get_u16(r);
		struct reader value = {.at = get_bytes(r, length)};

		value.end = value.at + (r->bad ? 0 : length);
		while (this_key == key && !r->bad && value.end - value.at >= 8)
			match |= get_u64(&value) == number;
	}
	return match && !r->bad;
}

const uint8_t *get_rest(struct reader *r, size_t *length)
{
	const uint8_t *rest;

	get_hint(r, 0, 0);
	rest = r->bad ? NULL : r->at;
	*length = r->bad ? 0 : (size_t)(r->end - r->at);
	r->at = r->bad ? r->at : NULL;
	return rest;
}

bool get_end(struct reader *r)
{
	get_hint(r, 0, 0);
	return !r->bad && r->at == r->end;
}
