/* CRC-32C. */
#ifndef FATHOM_CRC_H
#define FATHOM_CRC_H

#include <stddef.h>
#include <stdint.h>

uint32_t crc32c(uint32_t crc, const void *data, size_t bytes);

#endif
