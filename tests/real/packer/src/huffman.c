#include "huffman.h"

#include <stdlib.h>
#include <string.h>

#define SYMBOLS 256
#define MAX_BITS 15
#define TABLE_BYTES (SYMBOLS / 2)

struct node {
    uint32_t weight;
    int16_t parent;
};

/* Symbols that occur, the rare ones first. */
struct leaf {
    uint32_t weight;
    uint8_t symbol;
};

static int by_weight(const void *left, const void *right)
{
    const struct leaf *a = left, *b = right;
    if (a->weight != b->weight)
        return a->weight < b->weight ? -1 : 1;
    return a->symbol - b->symbol;
}

/* Leaves and inner nodes both come in the order of their weights: the lightest is one of two. */
static int take_lightest(const struct node *nodes, int *leaf, int leaves, int *inner, int count)
{
    if (*leaf < leaves && (*inner == count || nodes[*leaf].weight <= nodes[*inner].weight))
        return (*leaf)++;
    return (*inner)++;
}

/* Lengths of the codes of `leaves`. Returns the longest one. */
static int tree_lengths(const struct leaf *leaves, int count, uint8_t *lengths)
{
    struct node nodes[2 * SYMBOLS];
    uint8_t depths[2 * SYMBOLS];
    int leaf = 0, inner = count, total = count, longest = 0;

    if (count == 0)
        return 0;
    for (int i = 0; i < count; i++)
        nodes[i].weight = leaves[i].weight;
    while (total < 2 * count - 1) {
        int first = take_lightest(nodes, &leaf, count, &inner, total);
        int second = take_lightest(nodes, &leaf, count, &inner, total);
        nodes[total].weight = nodes[first].weight + nodes[second].weight;
        nodes[first].parent = nodes[second].parent = (int16_t)total;
        total++;
    }
    depths[total - 1] = 0;
    for (int i = total - 2; i >= 0; i--)
        depths[i] = (uint8_t)(depths[nodes[i].parent] + 1);
    if (count == 1)
        depths[0] = 1;
    for (int i = 0; i < count; i++) {
        lengths[leaves[i].symbol] = depths[i];
        if (depths[i] > longest)
            longest = depths[i];
    }
    return longest;
}

/* As `tree_lengths`, with weights made more even until no code is too long. */
static void code_lengths(const uint8_t *in, size_t size, uint8_t *lengths)
{
    uint32_t weights[SYMBOLS];
    struct leaf leaves[SYMBOLS];
    int count = 0;

    memset(weights, 0, sizeof weights);
    memset(lengths, 0, SYMBOLS);
    for (size_t i = 0; i < size; i++)
        weights[in[i]]++;
    for (int i = 0; i < SYMBOLS; i++)
        if (weights[i] > 0)
            leaves[count++] = (struct leaf){ .weight = weights[i], .symbol = (uint8_t)i };
    qsort(leaves, (size_t)count, sizeof *leaves, by_weight);
    while (tree_lengths(leaves, count, lengths) > MAX_BITS)
        for (int i = 0; i < count; i++)
            leaves[i].weight = leaves[i].weight / 2 + 1;
}

/* How many codes there are of each length. */
static void count_lengths(const uint8_t *lengths, uint16_t *counts)
{
    memset(counts, 0, (MAX_BITS + 1) * sizeof *counts);
    for (int i = 0; i < SYMBOLS; i++)
        counts[lengths[i]]++;
    counts[0] = 0;
}

/* Canonical codes: shorter ones first, then by symbol. */
static void assign_codes(const uint8_t *lengths, uint16_t *codes)
{
    uint16_t counts[MAX_BITS + 1], next[MAX_BITS + 1];

    count_lengths(lengths, counts);
    next[0] = 0;
    for (int bits = 1; bits <= MAX_BITS; bits++)
        next[bits] = (uint16_t)((next[bits - 1] + counts[bits - 1]) << 1);
    for (int i = 0; i < SYMBOLS; i++)
        if (lengths[i] > 0)
            codes[i] = next[lengths[i]]++;
}

size_t huffman_encode(const uint8_t *in, size_t in_size, uint8_t *out, size_t capacity)
{
    uint8_t lengths[SYMBOLS];
    uint16_t codes[SYMBOLS];
    uint32_t bits = 0;
    int bit_count = 0;
    size_t size = TABLE_BYTES;

    if (capacity < TABLE_BYTES)
        return 0;
    code_lengths(in, in_size, lengths);
    assign_codes(lengths, codes);
    for (int i = 0; i < TABLE_BYTES; i++)
        out[i] = (uint8_t)(lengths[2 * i] << 4 | lengths[2 * i + 1]);
    for (size_t i = 0; i < in_size; i++) {
        bits = bits << lengths[in[i]] | codes[in[i]];
        bit_count += lengths[in[i]];
        for (; bit_count >= 8; bit_count -= 8) {
            if (size == capacity)
                return 0;
            out[size++] = (uint8_t)(bits >> (bit_count - 8));
        }
    }
    if (bit_count > 0) {
        if (size == capacity)
            return 0;
        out[size++] = (uint8_t)(bits << (8 - bit_count));
    }
    return size;
}

/* How many codes there are of each length, and the symbols in the order of their codes. */
struct decoder {
    uint16_t counts[MAX_BITS + 1];
    uint8_t symbols[SYMBOLS];
};

static void decoder_init(struct decoder *decoder, const uint8_t *table)
{
    uint8_t lengths[SYMBOLS];
    uint16_t next[MAX_BITS + 1];

    for (int i = 0; i < TABLE_BYTES; i++) {
        lengths[2 * i] = table[i] >> 4;
        lengths[2 * i + 1] = table[i] & 15;
    }
    count_lengths(lengths, decoder->counts);
    next[0] = next[1] = 0;
    for (int bits = 2; bits <= MAX_BITS; bits++)
        next[bits] = (uint16_t)(next[bits - 1] + decoder->counts[bits - 1]);
    for (int i = 0; i < SYMBOLS; i++)
        if (lengths[i] > 0)
            decoder->symbols[next[lengths[i]]++] = (uint8_t)i;
}

int huffman_decode(const uint8_t *in, size_t in_size, uint8_t *out, size_t out_size)
{
    struct decoder decoder;
    size_t bit = TABLE_BYTES * 8, end = in_size * 8;

    if (in_size < TABLE_BYTES)
        return -1;
    decoder_init(&decoder, in);
    for (size_t i = 0; i < out_size; i++) {
        int code = 0, first = 0, index = 0, length = 1;
        for (; length <= MAX_BITS; length++) {
            if (bit == end)
                return -1;
            code |= in[bit / 8] >> (7 - bit % 8) & 1;
            bit++;
            if (code - first < decoder.counts[length])
                break;
            index += decoder.counts[length];
            first = (first + decoder.counts[length]) << 1;
            code <<= 1;
        }
        if (length > MAX_BITS)
            return -1;
        out[i] = decoder.symbols[index + code - first];
    }
    return 0;
}
