/* The codec: golden frames made and read, known digests, and any bytes at all into the decoders. */
#include <dirent.h>
#include <limits.h>

#include "../core/check.h"
#include "compress.h"
#include "messages.h"
#include "sha256.h"

enum {
	FRAME_ROOM = FWD_FRAME_HEADER + 4096,
	GOLDENS = 57, /* in forward/golden */
};

static const uint64_t client = 0x0123456789abcdef;
static struct fathom_fwd_handle file, directory, root;
static uint8_t nonce[NONCE_BYTES];

struct golden {
	uint8_t bytes[FRAME_ROOM];
	size_t length;
	struct frame head;
};

static struct golden load(const char *name)
{
	struct golden g;
	char path[PATH_MAX];
	FILE *from;

	snprintf(path, sizeof(path), "%s/%s.frame", GOLDEN, name);
	from = fopen(path, "r");
	CHECK(from != NULL);
	g.length = fread(g.bytes, 1, sizeof(g.bytes), from);
	fclose(from);
	CHECK(g.length >= FWD_FRAME_HEADER);
	CHECK(frame_decode(&g.head, g.bytes) == NULL);
	CHECK(g.length == FWD_FRAME_HEADER + g.head.body);
	CHECK(frame_check_body(&g.head, g.bytes + FWD_FRAME_HEADER) == NULL);
	return g;
}

static struct reader body_of(const struct golden *g)
{
	return (struct reader){.at = g->bytes + FWD_FRAME_HEADER, .end = g->bytes + g->length};
}

/* Every header there is, read and made again. */
static void headers(void)
{
	DIR *dir = opendir(GOLDEN);
	struct dirent *entry;
	int seen = 0;

	CHECK(dir != NULL);
	while ((entry = readdir(dir))) {
		char name[NAME_MAX + 1], *dot;
		uint8_t again[FWD_FRAME_HEADER];
		struct golden g;

		snprintf(name, sizeof(name), "%s", entry->d_name);
		dot = strstr(name, ".frame");
		if (!dot)
			continue;
		*dot = 0;
		g = load(name);
		frame_encode(again, &g.head);
		CHECK(!memcmp(again, g.bytes, sizeof(again)));
		seen++;
	}
	closedir(dir);
	CHECK(seen == GOLDENS);
}

/* The frame that `w` and `head` make is the golden one. */
static void check_request(const char *name, uint16_t op, struct frame head, struct writer *w,
			  uint8_t *body, const struct fathom_fwd_hint *hints, uint16_t n,
			  const char *data)
{
	struct golden g = load(name);
	uint8_t header[FWD_FRAME_HEADER];

	put_hints(w, hints, n);
	put_bytes(w, data, strlen(data));
	CHECK(!w->full);
	head.op = op;
	head.kind = head.kind ? head.kind : FWD_KIND_REQUEST;
	head.client = client;
	head.body = (uint32_t)(w->at - body);
	if (head.flags & FWD_FLAG_BODY_CRC)
		head.body_crc = frame_crc(0, body, head.body);
	frame_encode(header, &head);
	CHECK(!memcmp(header, g.bytes, sizeof(header)));
	CHECK(!memcmp(body, g.bytes + FWD_FRAME_HEADER, head.body));
}

static void requests_of_names(void)
{
	struct fathom_fwd_attr attr = {.size = 4096, .atime = {12, 34}, .mode = 7};
	uint8_t b[4096];
	struct frame seq = {.seq = 42}, first = {.seq = 0}, ping = {.seq = 42, .deadline = 250};
	struct frame traced = {.seq = 42, .call_stream = 7, .call_seq = 8};
	struct writer w;

	w = (struct writer){b, b + sizeof(b), false};
	put_hello(&w, file.bytes, nonce, "s3d host 4711");
	check_request("request-hello", FWD_OP_HELLO, first, &w, b, NULL, 0, "");
	w = (struct writer){b, b + sizeof(b), false};
	put_bytes(&w, nonce, PROOF_BYTES);
	check_request("request-auth", FWD_OP_AUTH, first, &w, b, NULL, 0, "");
	w = (struct writer){b, b + sizeof(b), false};
	put_text(&w, "MUNGE:AwQDAAD:");
	check_request("request-munge", FWD_OP_MUNGE, first, &w, b, NULL, 0, "");
	w = (struct writer){b, b + sizeof(b), false};
	check_request("request-ping", FWD_OP_PING, ping, &w, b, NULL, 0, "");
	w = (struct writer){b, b + sizeof(b), false};
	put_lookup(&w, &root, FWD_LOOKUP_NOFOLLOW, "a/b");
	check_request("request-lookup", FWD_OP_LOOKUP, seq, &w, b, NULL, 0, "");
	w = (struct writer){b, b + sizeof(b), false};
	put_open(&w, &directory, FATHOM_FWD_CREATE | FATHOM_FWD_WRITE, 0640, "out.h5");
	check_request("request-open", FWD_OP_OPEN, traced, &w, b, NULL, 0, "");
	w = (struct writer){b, b + sizeof(b), false};
	put_setattr(&w, &file, FATHOM_FWD_SET_SIZE | FATHOM_FWD_SET_ATIME, &attr);
	check_request("request-setattr", FWD_OP_SETATTR, seq, &w, b, NULL, 0, "");
	w = (struct writer){b, b + sizeof(b), false};
	put_rename(&w, &directory, "a", &root, "b", FATHOM_FWD_NOREPLACE);
	check_request("request-rename", FWD_OP_RENAME, seq, &w, b, NULL, 0, "");
	w = (struct writer){b, b + sizeof(b), false};
	put_readdir(&w, &directory, 99, 128);
	check_request("request-readdir", FWD_OP_READDIR, seq, &w, b, NULL, 0, "");
}

static void requests_of_data(void)
{
	static const struct fathom_fwd_extent reads[] = {{0, 10}, {1ull << 41, 512}};
	static const struct fathom_fwd_extent writes[] = {{4, 3}, {100, 2}}, all = {0, 1 << 20};
	static const struct fathom_fwd_hint question = {99, 1, "?"};
	static const struct fathom_fwd_hint appends[] = {{FATHOM_FWD_APPEND_ALIGN, 4, "\0\x10\0\0"},
							 {FATHOM_FWD_APPEND_SHARED, 0, NULL}};
	struct frame seq = {.seq = 42}, summed = {.seq = 42, .flags = FWD_FLAG_BODY_CRC};
	struct frame pulled = {.seq = 42, .flags = FWD_FLAG_PULL | FWD_FLAG_NONBLOCKING};
	struct frame retried = {.seq = 42, .flags = FWD_FLAG_RETRY};
	struct frame waits = {.seq = 42, .deadline = 250};
	static const struct fathom_fwd_lock wanted = {.session = 7,
						      .owner = 8,
						      .flags = FATHOM_FWD_LOCK_WAIT |
							       FATHOM_FWD_LOCK_PROCESS,
						      .mode = FATHOM_FWD_LOCK_EXCLUSIVE,
						      .pid = 4711,
						      .start = 4096};
	uint8_t b[4096];
	struct writer w;

	w = (struct writer){b, b + sizeof(b), false};
	put_extents(&w, &file, reads, 2);
	check_request("request-read", FWD_OP_READ, seq, &w, b, NULL, 0, "");
	w = (struct writer){b, b + sizeof(b), false};
	put_extents(&w, &file, writes, 2);
	check_request("request-write", FWD_OP_WRITE, summed, &w, b, &question, 1, "abcde");
	w = (struct writer){b, b + sizeof(b), false};
	put_extents(&w, &file, &all, 1);
	check_request("request-write-pull", FWD_OP_WRITE, pulled, &w, b, NULL, 0, "");
	w = (struct writer){b, b + sizeof(b), false};
	put_file_number(&w, &file, 5);
	check_request("request-append", FWD_OP_APPEND, retried, &w, b, appends, 2, "hello");
	w = (struct writer){b, b + sizeof(b), false};
	put_commit(&w, &file, FATHOM_FWD_SYNCED);
	check_request("request-commit", FWD_OP_COMMIT, seq, &w, b, NULL, 0, "");
	w = (struct writer){b, b + sizeof(b), false};
	put_claim(&w, &file, &wanted);
	check_request("request-lock", FWD_OP_LOCK, waits, &w, b, NULL, 0, "");
	w = (struct writer){b, b + sizeof(b), false};
	put_call(&w, &file, "crc32", 64);
	check_request("request-call", FWD_OP_CALL, summed, &w, b, &question, 1, "0+512");
	w = (struct writer){b, b + sizeof(b), false};
	put_seek(&w, &file, 4096, FATHOM_FWD_HOLE);
	check_request("request-seek", FWD_OP_SEEK, seq, &w, b, NULL, 0, "");
	w = (struct writer){b, b + sizeof(b), false};
	put_allocate(&w, &file, FATHOM_FWD_KEEP_SIZE | FATHOM_FWD_PUNCH_HOLE, 4096, 1 << 20);
	check_request("request-allocate", FWD_OP_ALLOCATE, seq, &w, b, appends + 1, 1, "");
	w = (struct writer){b, b + sizeof(b), false};
	put_setxattr(&w, &file, "user.a", FATHOM_FWD_XATTR_CREATE);
	check_request("request-setxattr", FWD_OP_SETXATTR, seq, &w, b, NULL, 0, "some");
	w = (struct writer){b, b + sizeof(b), false};
	put_path(&w, &file, "user.a");
	check_request("request-getxattr", FWD_OP_GETXATTR, seq, &w, b, NULL, 0, "");
}

static void replies_of_names(void)
{
	struct golden g = load("reply-hello");
	struct reader r = body_of(&g);
	struct session s = get_session(&r);
	struct fathom_fwd_handle handle;
	struct fathom_fwd_attr attr;
	struct fathom_fwd_entry entry;
	struct text name;

	CHECK(get_end(&r) && s.epoch == 0x1122334455667788 && s.window == 64);
	CHECK(s.inline_bytes == 16384 && s.piece == 1 << 20 && s.data == 64 << 20);
	CHECK(s.lease == 30000 && s.deadline == 60000 && s.servers == 1 && s.name.length == 6);
	g = load("reply-auth");
	r = body_of(&g);
	get_session(&r);
	CHECK(!memcmp(get_hint(&r, FWD_HINT_PROOF, PROOF_BYTES), nonce, PROOF_BYTES));
	g = load("reply-munge");
	r = body_of(&g);
	get_session(&r);
	name = get_text(&r);
	CHECK(name.length == 14 && !memcmp(name.at, "MUNGE:AwQDAAD:", 14) && get_end(&r));
	g = load("reply-challenge-munge");
	r = body_of(&g);
	get_failure(&r);
	CHECK(get_hint(&r, FWD_HINT_MUNGE, 0) != NULL && g.head.status == FWD_STATUS_AUTH);
	g = load("reply-open");
	r = body_of(&g);
	handle = get_handle(&r);
	attr = get_attr(&r);
	CHECK(!memcmp(&handle, &file, sizeof(file)) && get_u8(&r) == 1 && get_end(&r));
	CHECK(attr.mode == 0100644 && attr.ino == 1234567 && attr.size == 1ull << 40);
	CHECK(attr.ctime.nanoseconds == 999999999 && attr.birth.seconds == -5);
	g = load("reply-getattr");
	r = body_of(&g);
	CHECK(get_attr(&r).dev == 0x801 && get_end(&r));
	g = load("reply-readdir");
	r = body_of(&g);
	CHECK(get_count(&r, FWD_LIMIT_ENTRIES, 19) == 2 && g.head.flags == FWD_FLAG_MORE);
	entry = get_entry(&r, &name);
	CHECK(entry.cookie == 1 && entry.ino == 10 && entry.type == 4 && name.length == 1);
	entry = get_entry(&r, &name);
	CHECK(entry.cookie == 2 && !memcmp(name.at, "x\xff", 2) && get_end(&r));
	g = load("reply-statfs");
	r = body_of(&g);
	CHECK(get_statfs(&r).namemax == 255 && get_end(&r));
}

static void replies_of_data(void)
{
	struct golden g = load("reply-read");
	struct reader r = body_of(&g);
	struct fathom_fwd_failed failed;
	const uint8_t *rest;
	size_t length;
	struct fathom_fwd_gap gap;
	struct fathom_fwd_lock lock;
	struct failure failure;

	CHECK(get_count(&r, 4096, 8) == 2 && get_u64(&r) == 3 && get_u64(&r) == 0);
	CHECK(!get_hint(&r, 0, 0) && !r.bad && r.end - r.at == 3 && !memcmp(r.at, "abc", 3));
	g = load("reply-append");
	r = body_of(&g);
	CHECK(get_u64(&r) == 1ull << 33 && get_u8(&r) == FATHOM_FWD_ACCEPTED && get_end(&r));
	g = load("reply-commit");
	r = body_of(&g);
	CHECK(get_count(&r, FWD_LIMIT_FAILED, 60) == 1);
	failed = get_failed(&r);
	CHECK(failed.seq == 9 && failed.offset == 4096 && failed.length == 512 &&
	      failed.code == 28);
	CHECK(get_end(&r));
	g = load("reply-gaps");
	r = body_of(&g);
	CHECK(get_count(&r, FWD_LIMIT_FAILED, 36) == 2);
	gap = get_gap(&r);
	CHECK(gap.offset == 10 && gap.length == 6 && gap.client == 1 && gap.seq == 2);
	CHECK(gap.code == 5 && get_gap(&r).offset == 90 && get_end(&r));
	g = load("reply-locked");
	r = body_of(&g);
	lock = get_claim(&r);
	CHECK(lock.session == 7 && lock.owner == 9 && lock.mode == FATHOM_FWD_LOCK_EXCLUSIVE);
	CHECK(lock.pid == 4712 && lock.start == 5 && lock.length == 6 && get_end(&r));
	g = load("reply-call");
	r = body_of(&g);
	rest = get_rest(&r, &length);
	CHECK(length == 4 && !memcmp(rest, "cafe", 4) && !r.bad);
	g = load("reply-failure");
	r = body_of(&g);
	failure = get_failure(&r);
	CHECK(g.head.status == 28 && failure.offset == 1 << 20 && failure.length == 4096);
	CHECK(!memcmp(failure.what.at, "write out.h5", 12) && get_end(&r));
	g = load("pull");
	r = body_of(&g);
	CHECK(g.head.kind == FWD_KIND_PULL && get_u64(&r) == 1 << 20 && get_u32(&r) == 65536);
	CHECK(!r.bad && r.at == r.end);
}

/* The document's frame is read; ours are read again; what is longer than it says, or than there is room for, is not. */
static void compressed(void)
{
	struct golden g = load("data-compressed");
	struct reader r = body_of(&g);
	uint8_t plain[3000] = {0}, back[3000], *packed;
	struct memory from = {
		.part = &(struct iovec){plain, sizeof(plain)}, .parts = 1, .bytes = sizeof(plain)};
	struct memory to = {
		.part = &(struct iovec){back, sizeof(back)}, .parts = 1, .bytes = sizeof(back)};
	uint64_t seed = 5;
	uint32_t n;

	CHECK(compress_begin() && g.head.flags == FWD_FLAG_COMPRESSED && get_u64(&r) == 1 << 20);
	CHECK(expand_memory(&to, 10, 2990, r.at, (size_t)(r.end - r.at)) == 2000);
	CHECK(back[10] == 'a' && !memcmp(back + 10, back + 11, 1999));
	CHECK(expand_memory(&to, 10, 1999, r.at, (size_t)(r.end - r.at)) < 0);
	CHECK(expand_memory(&to, 10, 2990, r.at, (size_t)(r.end - r.at) - 1) < 0);
	packed = compress_memory(&from, 5, 2900, &n);
	CHECK(packed && n < 100 && expand_memory(&to, 0, 2900, packed, n) == 2900);
	CHECK(!memcmp(back, plain, 2900));
	free(packed);
	for (size_t i = 0; i < sizeof(plain); i++)
		plain[i] = (uint8_t)random_next(&seed);
	CHECK(!compress_memory(&from, 0, 3000, &n) && !compress_memory(&from, 0, 100, &n));
}

static void decode_all(struct reader r)
{
	struct reader again = r;
	struct text name;
	size_t length;

	get_session(&again);
	get_hint(&again, FWD_HINT_PROOF, PROOF_BYTES);
	again = r;
	get_session(&again);
	get_text(&again);
	get_end(&again);
	again = r;
	get_failure(&again);
	get_hint(&again, FWD_HINT_MUNGE, 0);
	again = r;
	get_handle(&again);
	get_attr(&again);
	get_end(&again);
	again = r;
	for (uint32_t n = get_count(&again, FWD_LIMIT_ENTRIES, 19); n && !again.bad; n--)
		get_entry(&again, &name);
	get_end(&again);
	again = r;
	for (uint32_t n = get_count(&again, FWD_LIMIT_FAILED, 60); n && !again.bad; n--)
		get_failed(&again);
	again = r;
	get_claim(&again);
	get_end(&again);
	again = r;
	get_rest(&again, &length);
	again = r;
	if (get_u64(&again) != 1 && !again.bad)
		expand_memory(&(struct memory){.bytes = 0}, 0, 4096, again.at,
			      (size_t)(again.end - again.at));
	again = r;
	get_failure(&again);
	get_end(&again);
}

/* Golden frames cut, with bits flipped, with lengths made up: nothing is read outside of what there is. */
static void damage(uint64_t rounds)
{
	static const char *const names[] = {
		"reply-hello",  "reply-auth",    "reply-open",     "reply-munge", "reply-readdir",
		"reply-commit", "reply-failure", "reply-read",     "reply-gaps",  "reply-locked",
		"reply-call",   "data",          "data-compressed"};
	uint64_t seed = 7, refused = 0;

	for (uint64_t i = 0; i < rounds; i++) {
		struct golden g = load(names[random_below(&seed, sizeof(names) / sizeof(*names))]);
		size_t length = random_below(&seed, g.length - FWD_FRAME_HEADER + 1);
		uint8_t *exact = malloc(length + 1); /* so that a sanitizer sees one byte too far */
		struct frame head;

		memcpy(exact, g.bytes + FWD_FRAME_HEADER, length);
		for (uint64_t flips = random_below(&seed, 8); flips && length; flips--)
			exact[random_below(&seed, length)] ^= 1 << random_below(&seed, 8);
		exact = realloc(exact, length ? length : 1);
		decode_all((struct reader){.at = exact, .end = exact + length});
		free(exact);
		g.bytes[random_below(&seed, FWD_FRAME_HEADER)] ^= 1 << random_below(&seed, 8);
		refused += frame_decode(&head, g.bytes) != NULL;
	}
	CHECK(refused == rounds); /* no flipped bit of a header is missed */
}

/* Rules of the header that a right checksum does not save. */
static void rules(void)
{
	struct frame good = {.kind = FWD_KIND_REPLY, .client = 1}, bad, out;
	uint8_t bytes[FWD_FRAME_HEADER];

	frame_encode(bytes, &good);
	CHECK(!frame_decode(&out, bytes));
	bad = good;
	bad.body = FWD_LIMIT_BODY + 1;
	frame_encode(bytes, &bad);
	CHECK(frame_decode(&out, bytes) != NULL);
	bad = good;
	bad.flags = 1u << 31;
	frame_encode(bytes, &bad);
	CHECK(frame_decode(&out, bytes) != NULL);
	bad = good;
	bad.kind = 9;
	frame_encode(bytes, &bad);
	CHECK(frame_decode(&out, bytes) != NULL);
	bad = good;
	bad.client = 0;
	frame_encode(bytes, &bad);
	CHECK(frame_decode(&out, bytes) != NULL);
}

static void is_hex(const uint8_t *digest, const char *hex)
{
	char text[2 * SHA256_BYTES + 1];

	for (int i = 0; i < SHA256_BYTES; i++)
		sprintf(text + 2 * i, "%02x", digest[i]);
	CHECK(!strcmp(text, hex));
}

/* FIPS 180-4 examples; RFC 4231 cases 2 and 6. */
static void digests(void)
{
	uint8_t out[SHA256_BYTES], key[131];
	struct sha256 s;
	struct hmac h;

	sha256_begin(&s);
	sha256_add(&s, "abc", 3);
	sha256_end(&s, out);
	is_hex(out, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	sha256_begin(&s);
	for (int i = 0; i < 1000000; i++)
		sha256_add(&s, "a", 1);
	sha256_end(&s, out);
	is_hex(out, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
	hmac_begin(&h, "Jefe", 4);
	hmac_add(&h, "what do ya want for nothing?", 28);
	hmac_end(&h, out);
	is_hex(out, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
	memset(key, 0xaa, sizeof(key));
	hmac_begin(&h, key, sizeof(key));
	hmac_add(&h, "Test Using Larger Than Block-Size Key - Hash Key First", 54);
	hmac_end(&h, out);
	is_hex(out, "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
	CHECK(same_proof(out, out) && !same_proof(out, nonce));
}

int main(void)
{
	const char *rounds = getenv("FATHOM_FUZZ");

	for (uint8_t i = 0; i < 32; i++) {
		file.bytes[i] = i;
		directory.bytes[i] = 100 + i;
		nonce[i] = 200 + i;
	}
	headers();
	requests_of_names();
	requests_of_data();
	replies_of_names();
	replies_of_data();
	compressed();
	rules();
	digests();
	damage(rounds ? strtoull(rounds, NULL, 10) : 20000);
	return 0;
}
