/* SHA-256 (FIPS 180-4) and HMAC over it (RFC 2104): what proves to know the token. */
#ifndef FWD_SHA256_H
#define FWD_SHA256_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	SHA256_BYTES = 32,
	SHA256_BLOCK = 64,
};

struct sha256 {
	uint32_t state[8];
	uint64_t bytes;
	uint8_t block[SHA256_BLOCK];
};

void sha256_begin(struct sha256 *s);
void sha256_add(struct sha256 *s, const void *data, size_t bytes);
void sha256_end(struct sha256 *s, uint8_t out[SHA256_BYTES]);

struct hmac {
	struct sha256 inner;
	uint8_t outer_key[SHA256_BLOCK];
};

void hmac_begin(struct hmac *h, const void *key, size_t bytes);
void hmac_add(struct hmac *h, const void *data, size_t bytes);
void hmac_end(struct hmac *h, uint8_t out[SHA256_BYTES]);
/* In a time that does not tell where they differ. */
bool same_proof(const uint8_t a[SHA256_BYTES], const uint8_t b[SHA256_BYTES]);

#endif
