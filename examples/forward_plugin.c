/* A plug-in of a forwarding server: what is asked of a file's data is worked out where the data is.
 *
 *	cc -O2 -shared -fPIC forward_plugin.c -o plugin.so
 *	fathom-engine forward DIR --unix PATH --plugin ./plugin.so
 *
 * Operations, both of a file:
 *	crc32    given n times (u64 offset, u64 length): n times u32, the CRC-32 (as zlib's) of each range
 *	doubles  given the same: per range of doubles f64 least, f64 most, f64 sum, u64 how many there are
 * A range may end beyond the end of the file: what is there counts. */
#include <errno.h>
#include <fathom_fwd_plugin.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct range {
	uint64_t offset, length;
};

struct doubles {
	double least, most, sum;
	uint64_t count;
};

enum { PIECE = 1 << 18 }; /* bytes that are read at once */

static int wrong(struct fathom_fwd_plugin_call *call, int code, const char *why)
{
	snprintf(call->message, call->message_room, "%s", why);
	return code;
}

static int is_late(const struct fathom_fwd_plugin_call *call)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec >= call->due;
}

/* Calls `take` with each piece of a range; 0 or an errno. */
static int each_piece(struct fathom_fwd_plugin_call *call, struct range range,
		      void (*take)(void *into, const void *bytes, size_t length), void *into)
{
	_Alignas(16) char bytes[PIECE];

	while (range.length) {
		size_t wanted = range.length < PIECE ? (size_t)range.length : PIECE, have = 0;

		while (have < wanted) { /* whole pieces, so that no number is cut in two */
			ssize_t got = pread(call->file, bytes + have, wanted - have,
					    (off_t)(range.offset + have));

			if (got < 0 && errno != EINTR)
				return wrong(call, errno, strerror(errno));
			if (got == 0)
				break;
			have += got > 0 ? (size_t)got : 0;
		}
		take(into, bytes, have);
		if (have < wanted)
			return 0;
		if (is_late(call))
			return wrong(call, ETIMEDOUT, "not done in time");
		range.offset += have;
		range.length -= have;
	}
	return 0;
}

/* Does `take` for each range, whose answer has `size` bytes and begins as `zero` says. */
static int each_range(struct fathom_fwd_plugin_call *call, const void *zero, size_t size,
		      void (*take)(void *into, const void *bytes, size_t length))
{
	const size_t n = call->given_length / sizeof(struct range);
	const struct range *range = call->given;
	char *into = call->reply;

	if (call->file < 0)
		return wrong(call, EINVAL, "it is asked of a file");
	if (call->given_length != n * sizeof(*range))
		return wrong(call, EINVAL, "ranges are expected: (u64 offset, u64 length)");
	if (n * size > call->room)
		return wrong(call, ENOBUFS, "the answer is longer than there is room");
	for (size_t i = 0; i < n; i++, into += size) {
		int error;

		if (range[i].offset + range[i].length < range[i].offset ||
		    range[i].offset + range[i].length > INT64_MAX)
			return wrong(call, EINVAL, "a range that cannot be");
		memcpy(into, zero, size);
		error = each_piece(call, range[i], take, into);
		if (error)
			return error;
	}
	call->length = n * size;
	return 0;
}

static void add_crc(void *into, const void *bytes, size_t length)
{
	const uint8_t *byte = bytes;
	uint32_t crc;

	memcpy(&crc, into, sizeof(crc));
	crc = ~crc;
	for (size_t i = 0; i < length; i++) {
		crc ^= byte[i];
		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
	}
	crc = ~crc;
	memcpy(into, &crc, sizeof(crc));
}

static int crc32(struct fathom_fwd_plugin_call *call)
{
	static const uint32_t zero;

	return each_range(call, &zero, sizeof(zero), add_crc);
}

static void add_doubles(void *into, const void *bytes, size_t length)
{
	struct doubles *all = into; /* the answer is aligned, and so is each part of it */
	const double *number = bytes;

	for (size_t i = 0; i < length / sizeof(*number); i++) {
		all->least = number[i] < all->least ? number[i] : all->least;
		all->most = number[i] > all->most ? number[i] : all->most;
		all->sum += number[i];
		all->count++;
	}
}

static int doubles(struct fathom_fwd_plugin_call *call)
{
	static const struct doubles zero = {.least = INFINITY, .most = -INFINITY};

	return each_range(call, &zero, sizeof(zero), add_doubles);
}

static const struct fathom_fwd_plugin_operation operations[] = {
	{"crc32", crc32},
	{"doubles", doubles},
};

static const struct fathom_fwd_plugin plugin = {FATHOM_FWD_PLUGIN_VERSION, 2, operations};

FATHOM_FWD_PLUGIN_API const struct fathom_fwd_plugin *fathom_fwd_plugin(void)
{
	return &plugin;
}
