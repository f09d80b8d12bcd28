#ifndef HUFFMAN_H
#define HUFFMAN_H

#include <stddef.h>
#include <stdint.h>

/* Codes bytes by how often they occur: a table of 4-bit code lengths, then the codes. Returns the
 * bytes written, or 0 when they would be more than `capacity`. */
size_t huffman_encode(const uint8_t *in, size_t in_size, uint8_t *out, size_t capacity);

/* The opposite, for `out_size` bytes. Returns 0 when it worked, -1 when the input is damaged. */
int huffman_decode(const uint8_t *in, size_t in_size, uint8_t *out, size_t out_size);

#endif
