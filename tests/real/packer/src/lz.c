#include "lz.h"

#include <stdbool.h>
#include <string.h>

/* A group is a byte of flags and up to eight tokens: a literal (flag 0) is one byte, a match
 * (flag 1) is two bytes of distance and one of length. */

#define HASH_BITS 8
#define HASH_SIZE (1 << HASH_BITS)
#define MIN_MATCH 4
#define MAX_MATCH (255 + MIN_MATCH)
#define NO_POSITION 0xFFFF

struct output {
    uint8_t *data;
    size_t size;
    size_t capacity;
    size_t flags_at;
    int flag_count;
    bool overflow;
};

static void put(struct output *output, uint8_t byte)
{
    if (output->size == output->capacity)
        output->overflow = true;
    else
        output->data[output->size++] = byte;
}

static void put_flag(struct output *output, bool is_match)
{
    if (output->flag_count == 8) {
        output->flag_count = 0;
        output->flags_at = output->size;
        put(output, 0);
    }
    if (is_match && !output->overflow)
        output->data[output->flags_at] |= (uint8_t)(1 << output->flag_count);
    output->flag_count++;
}

static unsigned hash(const uint8_t *at)
{
    uint32_t value = at[0] | at[1] << 8 | at[2] << 16 | (uint32_t)at[3] << 24;
    return value * 2654435761u >> (32 - HASH_BITS);
}

static size_t match_length(const uint8_t *older, const uint8_t *newer, const uint8_t *end)
{
    size_t length = 0;
    while (length < MAX_MATCH && newer + length < end && older[length] == newer[length])
        length++;
    return length;
}

size_t lz_compress(const uint8_t *in, size_t in_size, uint8_t *out, size_t capacity)
{
    uint16_t last[HASH_SIZE];
    struct output output = { .data = out, .capacity = capacity, .flag_count = 8 };
    size_t at = 0;

    memset(last, 0xFF, sizeof last);
    while (at < in_size && !output.overflow) {
        size_t length = 0, distance = 0;
        if (at + MIN_MATCH <= in_size) {
            unsigned slot = hash(in + at);
            if (last[slot] != NO_POSITION) {
                distance = at - last[slot];
                length = match_length(in + last[slot], in + at, in + in_size);
            }
            last[slot] = (uint16_t)at;
        }
        if (length >= MIN_MATCH) {
            put_flag(&output, true);
            put(&output, (uint8_t)distance);
            put(&output, (uint8_t)(distance >> 8));
            put(&output, (uint8_t)(length - MIN_MATCH));
            at += length;
        } else {
            put_flag(&output, false);
            put(&output, in[at++]);
        }
    }
    return output.overflow ? 0 : output.size;
}

size_t lz_expand(const uint8_t *in, size_t in_size, uint8_t *out, size_t capacity)
{
    size_t from = 0, size = 0;

    while (from < in_size) {
        unsigned flags = in[from++];
        for (int bit = 0; bit < 8 && from < in_size; bit++) {
            if (!(flags >> bit & 1)) {
                if (size == capacity)
                    return 0;
                out[size++] = in[from++];
                continue;
            }
            if (from + 3 > in_size)
                return 0;
            size_t distance = in[from] | in[from + 1] << 8;
            size_t length = in[from + 2] + MIN_MATCH;
            from += 3;
            if (distance == 0 || distance > size || length > capacity - size)
                return 0;
            for (; length > 0; length--, size++)
                out[size] = out[size - distance];
        }
    }
    return size;
}
