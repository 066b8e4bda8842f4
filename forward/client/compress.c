/* Zstandard, by the functions that its library has had since its first version. */
#include "compress.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "bytes.h"
#include "forward_protocol.h"

enum {
	LEVEL = 1,    /* what is faster than a network */
	LEAST = 1024, /* bytes; less is not worth the call */
};

/* Written once, by compress_begin. */
static struct {
	pthread_once_t once;
	size_t (*compress)(void *to, size_t room, const void *from, size_t length, int level);
	size_t (*decompress)(void *to, size_t room, const void *from, size_t length);
	unsigned (*is_error)(size_t code);
} zstd = {.once = PTHREAD_ONCE_INIT};

static void load(void)
{
	void *library = dlopen("libzstd.so.1", RTLD_NOW | RTLD_LOCAL);

	if (!library)
		return;
	zstd.compress = dlsym(library, "ZSTD_compress");
	zstd.decompress = dlsym(library, "ZSTD_decompress");
	zstd.is_error = dlsym(library, "ZSTD_isError");
}

bool compress_begin(void)
{
	pthread_once(&zstd.once, load);
	return zstd.compress && zstd.decompress && zstd.is_error;
}

uint8_t *compress_memory(const struct memory *m, uint64_t at, uint32_t length, uint32_t *packed)
{
	uint8_t *out, *plain;
	struct writer w;
	size_t n;

	if (length < LEAST)
		return NULL;
	out = malloc(length);
	plain = malloc(length);
	if (!out || !plain) {
		free(out);
		free(plain);
		return NULL;
	}
	memory_get(m, at, plain, length);
	w = (struct writer){.at = out, .end = out + length};
	put_u32(&w, length);
	n = zstd.compress(w.at, length - 5, plain, length, LEVEL);
	free(plain);
	if (!zstd.is_error(n)) {
		*packed = (uint32_t)n + 4;
		return out;
	}
	free(out);
	return NULL;
}

int64_t expand_memory(const struct memory *m, uint64_t at, uint64_t most, const uint8_t *packed,
		      size_t length)
{
	struct reader r = {.at = packed, .end = packed + length};
	uint32_t bytes = get_u32(&r);
	uint8_t *plain;
	size_t n;

	if (r.bad || bytes > most || bytes > FWD_LIMIT_PIECE || !compress_begin())
		return -1;
	plain = malloc(bytes ? bytes : 1);
	if (!plain)
		return -1;
	n = zstd.decompress(plain, bytes, r.at, (size_t)(r.end - r.at));
	if (n == bytes)
		memory_put(m, at, plain, bytes);
	free(plain);
	return n == bytes ? (int64_t)bytes : -1;
}
