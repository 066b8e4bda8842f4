/* CRC-32C: known values (RFC 3720 B.4), and the two ways to compute it agree. */
#include "core/crc.c"

#include "check.h"

static void known(const uint8_t *data, size_t n, uint32_t value)
{
	CHECK(crc32c(0, data, n) == value);
	CHECK(~by_table(~0u, data, n) == value);
}

int main(void)
{
	uint8_t data[4096] = {0};
	uint64_t seed = 5;

	known(data, 32, 0x8a9136aa);
	memset(data, 0xff, 32);
	known(data, 32, 0x62a8ab43);
	for (uint8_t i = 0; i < 32; i++)
		data[i] = i;
	known(data, 32, 0x46dd794e);
	for (uint8_t i = 0; i < 32; i++)
		data[i] = 31 - i;
	known(data, 32, 0x113fdb5c);
	known((const uint8_t *)"123456789", 9, 0xe3069283);
	known(data, 0, 0);
	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)random_next(&seed);
	for (int i = 0; i < 2000; i++) { /* any length, any alignment, in two parts */
		size_t from = random_below(&seed, 64), n = random_below(&seed, 4000);
		size_t cut = random_below(&seed, n + 1);
		uint32_t whole = crc32c(0, data + from, n);

		CHECK(~by_table(~0u, data + from, n) == whole);
		CHECK(crc32c(crc32c(0, data + from, cut), data + from + cut, n - cut) == whole);
	}
	return 0;
}
