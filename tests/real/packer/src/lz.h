#ifndef LZ_H
#define LZ_H

#include <stddef.h>
#include <stdint.h>

/* Largest block; distances are stored in 16 bits. */
#define LZ_MAX_BLOCK 65535

/* Replaces what has occurred before by distance and length. Returns the bytes written, or 0 when
 * they would be more than `capacity`. */
size_t lz_compress(const uint8_t *in, size_t in_size, uint8_t *out, size_t capacity);

/* The opposite. Returns the bytes written, or 0 when the input is damaged. */
size_t lz_expand(const uint8_t *in, size_t in_size, uint8_t *out, size_t capacity);

#endif
