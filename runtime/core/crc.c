/* CRC-32C of chunks: the processor's instruction where it has one, else a table. */
#include "core/crc.h"

#include <string.h>
#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

static uint32_t table[256];

static void make_table(void)
{
	for (uint32_t i = 0; i < 256; i++) {
		uint32_t value = i;

		for (int bit = 0; bit < 8; bit++)
			value = value >> 1 ^ (value & 1 ? 0x82f63b78u : 0);
		table[i] = value;
	}
}

static uint32_t by_table(uint32_t crc, const uint8_t *data, size_t bytes)
{
	if (!table[1])
		make_table(); /* every thread that comes here writes the same values */
	while (bytes--)
		crc = crc >> 8 ^ table[(crc ^ *data++) & 0xff];
	return crc;
}

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) static uint32_t by_instruction(uint32_t crc, const uint8_t *data,
								 size_t bytes)
{
	uint64_t sum = crc;

	for (; bytes >= 8; data += 8, bytes -= 8) {
		uint64_t word;

		memcpy(&word, data, 8);
		sum = _mm_crc32_u64(sum, word);
	}
	while (bytes--)
		sum = _mm_crc32_u8((uint32_t)sum, *data++);
	return (uint32_t)sum;
}
#endif

uint32_t crc32c(uint32_t crc, const void *data, size_t bytes)
{
#if defined(__x86_64__)
	if (__builtin_cpu_supports("sse4.2"))
		return ~by_instruction(~crc, data, bytes);
#endif
	return ~by_table(~crc, data, bytes);
}
