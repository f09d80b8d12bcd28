#ifndef FORMAT_H
#define FORMAT_H

#include <stddef.h>
#include <stdint.h>

#define FORMAT_MAGIC "PKR1"
#define FORMAT_MAGIC_SIZE 4
#define BLOCK_HEADER_SIZE 15

/* How a block is stored. */
enum method {
    METHOD_STORED = 0,
    METHOD_LZ = 1,
    METHOD_LZ_HUFFMAN = 2,
    METHOD_DEFLATE = 3,
};

/* What stands before the bytes of a block. A block of no bytes ends the file. */
struct block_header {
    uint32_t raw_size;
    uint32_t packed_size;
    uint32_t crc;      /* of the raw bytes */
    uint16_t lz_size;  /* bytes between the two steps */
    uint8_t method;
};

void header_write(const struct block_header *header, uint8_t *to);

/* Returns -1 when it cannot be the header of a block of at most `max_raw` bytes. */
int header_read(struct block_header *header, const uint8_t *from, size_t max_raw);

/* Packs a block into `out`, which has room for a header and `raw_size` bytes. `scratch` has room for
 * `raw_size` bytes. Returns the bytes written. */
size_t block_pack(const uint8_t *raw, size_t raw_size, uint8_t *scratch, uint8_t *out);

/* Unpacks the bytes after a header. Returns -1 when they are damaged. */
int block_unpack(const struct block_header *header, const uint8_t *packed, uint8_t *scratch,
                 uint8_t *raw);

#endif
