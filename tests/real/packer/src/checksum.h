#ifndef CHECKSUM_H
#define CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

/* Fills the table. Call it once, before the first thread is created. */
void checksum_init(void);

/* CRC-32 of `size` bytes, continuing from `crc` (0 to begin). */
uint32_t checksum(uint32_t crc, const uint8_t *data, size_t size);

#endif
