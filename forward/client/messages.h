/* What requests and replies hold, in the order of docs/forwarding-protocol.md. Hints follow the fields. */
#ifndef FWD_MESSAGES_H
#define FWD_MESSAGES_H

#include "bytes.h"
#include "fathom_fwd.h"
#include "frame.h"

enum {
	KEY_BYTES = 16,
	NONCE_BYTES = 32,
	PROOF_BYTES = 32,
};

struct session {
	uint64_t epoch;
	uint32_t window;
	uint32_t inline_bytes;
	uint32_t piece;
	uint64_t data;
	uint32_t lease;    /* ms */
	uint32_t deadline; /* ms */
	uint32_t server;
	uint32_t servers;
	struct text name;
};

struct failure {
	uint64_t offset;
	uint64_t length;
	struct text what;
};

void put_hello(struct writer *w, const uint8_t key[KEY_BYTES], const uint8_t nonce[NONCE_BYTES],
	       const char *name);
void put_handle(struct writer *w, const struct fathom_fwd_handle *handle);
void put_path(struct writer *w, const struct fathom_fwd_handle *dir, const char *path);
void put_lookup(struct writer *w, const struct fathom_fwd_handle *dir, uint32_t flags,
		const char *path);
void put_open(struct writer *w, const struct fathom_fwd_handle *dir, uint32_t flags, uint32_t mode,
	      const char *path);
void put_setattr(struct writer *w, const struct fathom_fwd_handle *handle, uint32_t which,
		 const struct fathom_fwd_attr *attr);
void put_rename(struct writer *w, const struct fathom_fwd_handle *dir, const char *path,
		const struct fathom_fwd_handle *to, const char *to_path, uint32_t flags);
void put_readdir(struct writer *w, const struct fathom_fwd_handle *dir, uint64_t cookie,
		 uint32_t entries);
/* Of read and write. */
void put_extents(struct writer *w, const struct fathom_fwd_handle *handle,
		 const struct fathom_fwd_extent *extents, uint32_t n);
/* Of append its length, of gaps where they begin. */
void put_file_number(struct writer *w, const struct fathom_fwd_handle *handle, uint64_t number);
void put_seek(struct writer *w, const struct fathom_fwd_handle *handle, uint64_t offset,
	      uint8_t what);
void put_allocate(struct writer *w, const struct fathom_fwd_handle *handle, uint32_t mode,
		  uint64_t offset, uint64_t length);
void put_setxattr(struct writer *w, const struct fathom_fwd_handle *handle, const char *name,
		  uint32_t flags);
void put_commit(struct writer *w, const struct fathom_fwd_handle *handle, uint8_t level);
void put_call(struct writer *w, const struct fathom_fwd_handle *handle, const char *name,
	      uint32_t room);
void put_claim(struct writer *w, const struct fathom_fwd_handle *handle,
	       const struct fathom_fwd_lock *lock);
void put_hints(struct writer *w, const struct fathom_fwd_hint *hints, uint16_t n);

struct session get_session(struct reader *r);
struct fathom_fwd_handle get_handle(struct reader *r);
struct fathom_fwd_attr get_attr(struct reader *r);
struct fathom_fwd_statfs get_statfs(struct reader *r);
struct fathom_fwd_failed get_failed(struct reader *r);
struct fathom_fwd_gap get_gap(struct reader *r);
struct fathom_fwd_lock get_claim(struct reader *r);
/* The entry's name lies in the frame. */
struct fathom_fwd_entry get_entry(struct reader *r, struct text *name);
struct failure get_failure(struct reader *r);
/* How many items of at least `item` bytes follow; more than `most`, or than there is room for, is bad. */
uint32_t get_count(struct reader *r, uint32_t most, size_t item);
/* Reads all hints; the value of `key`, if it is there with just that length. */
const uint8_t *get_hint(struct reader *r, uint16_t key, uint16_t length);
/* One of the numbers in the values of that hint is this one. Reads the hints. */
bool get_hint_u64(struct reader *r, uint16_t key, uint64_t number);
/* The data behind the hints, and its length; all is read then. */
const uint8_t *get_rest(struct reader *r, size_t *length);
/* That the fields and hints were whole and nothing follows them. */
bool get_end(struct reader *r);

#endif
