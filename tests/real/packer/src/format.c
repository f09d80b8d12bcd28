#include "config.h"

#include "format.h"

#include "checksum.h"
#include "huffman.h"
#include "lz.h"

#include <string.h>

#ifdef HAVE_ZLIB
#include <zlib.h>
#endif

static void put32(uint8_t *to, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        to[i] = (uint8_t)(value >> 8 * i);
}

static uint32_t get32(const uint8_t *from)
{
    return from[0] | from[1] << 8 | from[2] << 16 | (uint32_t)from[3] << 24;
}

void header_write(const struct block_header *header, uint8_t *to)
{
    put32(to, header->raw_size);
    put32(to + 4, header->packed_size);
    put32(to + 8, header->crc);
    to[12] = (uint8_t)header->lz_size;
    to[13] = (uint8_t)(header->lz_size >> 8);
    to[14] = header->method;
}

int header_read(struct block_header *header, const uint8_t *from, size_t max_raw)
{
    header->raw_size = get32(from);
    header->packed_size = get32(from + 4);
    header->crc = get32(from + 8);
    header->lz_size = (uint16_t)(from[12] | from[13] << 8);
    header->method = from[14];
    if (header->raw_size > max_raw || header->packed_size > header->raw_size)
        return -1;
    if (header->method > METHOD_DEFLATE || header->lz_size > header->raw_size)
        return -1;
    return 0;
}

static uint32_t block_checksum(const uint8_t *data, size_t size)
{
#ifdef HAVE_ZLIB
    return (uint32_t)crc32(0, data, (uInt)size);
#else
    return checksum(0, data, size);
#endif
}

size_t block_pack(const uint8_t *raw, size_t raw_size, uint8_t *scratch, uint8_t *out)
{
    uint8_t *body = out + BLOCK_HEADER_SIZE;
    struct block_header header = {
        .raw_size = (uint32_t)raw_size,
        .crc = block_checksum(raw, raw_size),
    };
#ifdef HAVE_ZLIB
    uLongf deflated = raw_size;
    if (compress2(body, &deflated, raw, raw_size, 6) == Z_OK && deflated < raw_size) {
        header.method = METHOD_DEFLATE;
        header.packed_size = (uint32_t)deflated;
        header_write(&header, out);
        return BLOCK_HEADER_SIZE + deflated;
    }
#endif
    size_t lz_size = lz_compress(raw, raw_size, scratch, raw_size);
    size_t huffman_size = lz_size > 0 ? huffman_encode(scratch, lz_size, body, lz_size) : 0;

    if (huffman_size > 0) {
        header.method = METHOD_LZ_HUFFMAN;
        header.lz_size = (uint16_t)lz_size;
        header.packed_size = (uint32_t)huffman_size;
    } else if (lz_size > 0) {
        header.method = METHOD_LZ;
        header.packed_size = (uint32_t)lz_size;
        memcpy(body, scratch, lz_size);
    } else {
        header.method = METHOD_STORED;
        header.packed_size = (uint32_t)raw_size;
        memcpy(body, raw, raw_size);
    }
    header_write(&header, out);
    return BLOCK_HEADER_SIZE + header.packed_size;
}

int block_unpack(const struct block_header *header, const uint8_t *packed, uint8_t *scratch,
                 uint8_t *raw)
{
    size_t size = header->packed_size;

    switch (header->method) {
    case METHOD_STORED:
        memcpy(raw, packed, size);
        break;
    case METHOD_LZ:
        size = lz_expand(packed, size, raw, header->raw_size);
        break;
    case METHOD_DEFLATE:
#ifdef HAVE_ZLIB
    {
        uLongf inflated = header->raw_size;
        if (uncompress(raw, &inflated, packed, size) != Z_OK)
            return -1;
        size = inflated;
        break;
    }
#else
        return -1;
#endif
    default:
        if (huffman_decode(packed, size, scratch, header->lz_size) != 0)
            return -1;
        size = lz_expand(scratch, header->lz_size, raw, header->raw_size);
    }
    if (size != header->raw_size || block_checksum(raw, size) != header->crc)
        return -1;
    return 0;
}
