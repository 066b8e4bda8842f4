/* SHA-256 and HMAC, as the standards write them. */
#include "sha256.h"

#include <string.h>

static const uint32_t constants[64] = {
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4,
	0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe,
	0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f,
	0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7,
	0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc,
	0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
	0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116,
	0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
	0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7,
	0xc67178f2,
};

static uint32_t turned(uint32_t x, int n)
{
	return x >> n | x << (32 - n);
}

static void schedule(uint32_t w[64], const uint8_t block[SHA256_BLOCK])
{
	for (int i = 0; i < 16; i++)
		w[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 |
		       (uint32_t)block[4 * i + 2] << 8 | block[4 * i + 3];
	for (int i = 16; i < 64; i++) {
		uint32_t a = w[i - 15], b = w[i - 2];

		w[i] = w[i - 16] + w[i - 7] + (turned(a, 7) ^ turned(a, 18) ^ a >> 3) +
		       (turned(b, 17) ^ turned(b, 19) ^ b >> 10);
	}
}

static void compress(uint32_t state[8], const uint8_t block[SHA256_BLOCK])
{
	uint32_t w[64], v[8];

	schedule(w, block);
	memcpy(v, state, sizeof(v));
	for (int i = 0; i < 64; i++) {
		uint32_t e = v[4], a = v[0];
		uint32_t t1 = v[7] + (turned(e, 6) ^ turned(e, 11) ^ turned(e, 25)) +
			      ((e & v[5]) ^ (~e & v[6])) + constants[i] + w[i];
		uint32_t t2 = (turned(a, 2) ^ turned(a, 13) ^ turned(a, 22)) +
			      ((a & v[1]) ^ (a & v[2]) ^ (v[1] & v[2]));

		memmove(v + 1, v, 7 * sizeof(*v));
		v[4] += t1;
		v[0] = t1 + t2;
	}
	for (int i = 0; i < 8; i++)
		state[i] += v[i];
}

void sha256_begin(struct sha256 *s)
{
	static const uint32_t first[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
					  0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};

	memcpy(s->state, first, sizeof(first));
	s->bytes = 0;
}

void sha256_add(struct sha256 *s, const void *data, size_t bytes)
{
	const uint8_t *from = data;

	while (bytes--) {
		s->block[s->bytes++ % SHA256_BLOCK] = *from++;
		if (s->bytes % SHA256_BLOCK == 0)
			compress(s->state, s->block);
	}
}

void sha256_end(struct sha256 *s, uint8_t out[SHA256_BYTES])
{
	uint64_t bits = s->bytes * 8;
	uint8_t length[8];

	for (int i = 0; i < 8; i++)
		length[i] = (uint8_t)(bits >> (56 - 8 * i));
	sha256_add(s, "\x80", 1);
	while (s->bytes % SHA256_BLOCK != SHA256_BLOCK - 8)
		sha256_add(s, "", 1);
	sha256_add(s, length, sizeof(length));
	for (int i = 0; i < SHA256_BYTES; i++)
		out[i] = (uint8_t)(s->state[i / 4] >> (24 - 8 * (i % 4)));
}

void hmac_begin(struct hmac *h, const void *key, size_t bytes)
{
	uint8_t block[SHA256_BLOCK] = {0};

	sha256_begin(&h->inner);
	if (bytes > sizeof(block)) {
		sha256_add(&h->inner, key, bytes);
		sha256_end(&h->inner, block);
		sha256_begin(&h->inner);
	} else {
		memcpy(block, key, bytes);
	}
	for (int i = 0; i < SHA256_BLOCK; i++) {
		h->outer_key[i] = block[i] ^ 0x5c;
		block[i] ^= 0x36;
	}
	sha256_add(&h->inner, block, sizeof(block));
}

void hmac_add(struct hmac *h, const void *data, size_t bytes)
{
	sha256_add(&h->inner, data, bytes);
}

void hmac_end(struct hmac *h, uint8_t out[SHA256_BYTES])
{
	sha256_end(&h->inner, out);
	sha256_begin(&h->inner);
	sha256_add(&h->inner, h->outer_key, sizeof(h->outer_key));
	sha256_add(&h->inner, out, SHA256_BYTES);
	sha256_end(&h->inner, out);
}

bool same_proof(const uint8_t a[SHA256_BYTES], const uint8_t b[SHA256_BYTES])
{
	volatile uint8_t differ = 0;

	for (int i = 0; i < SHA256_BYTES; i++)
		differ |= a[i] ^ b[i];
	return differ == 0;
}
