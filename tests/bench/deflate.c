// Benchmark: two threads compress 20,000 bytes each with chains of earlier strings (Ziv and Lempel, 1977) and the fixed
// codes of RFC 1951.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SIZE 20000
#define HASHES 4096
#define LONGEST 258
#define TRIES 16

struct stream {
    unsigned char in[SIZE], out[2 * SIZE];
    int first[HASHES], before[SIZE];
    size_t used;
    unsigned held;
    int count;
};

static void put(struct stream *s, unsigned bits, int count) {
    s->held |= bits << s->count;
    s->count += count;
    for (; s->count >= 8; s->count -= 8, s->held >>= 8)
        s->out[s->used++] = (unsigned char)s->held;
}

// Codes are written with their first bit first.
static void put_code(struct stream *s, unsigned code, int count) {
    unsigned turned = 0;
    for (int bit = 0; bit < count; bit++)
        turned |= (code >> bit & 1) << (count - 1 - bit);
    put(s, turned, count);
}

static void put_symbol(struct stream *s, int symbol) {
    if (symbol < 144)
        put_code(s, 0x30 + symbol, 8);
    else if (symbol < 256)
        put_code(s, 0x190 + symbol - 144, 9);
    else if (symbol < 280)
        put_code(s, symbol - 256, 7);
    else
        put_code(s, 0xc0 + symbol - 280, 8);
}

static void put_length(struct stream *s, int length) {
    if (length == LONGEST) {
        put_symbol(s, 285);
        return;
    }
    int extra = 0, base = length - 3;
    while (base >> extra >= 8)
        extra++;
    put_symbol(s, 257 + (extra << 2) + (base >> extra));
    put(s, base & ((1 << extra) - 1), extra);
}

static void put_distance(struct stream *s, int distance) {
    int extra = 0, base = distance - 1;
    while (base >> extra >= 4)
        extra++;
    put_code(s, (extra << 1) + (base >> extra), 5);
    put(s, base & ((1 << extra) - 1), extra);
}

static int hash(const unsigned char *at) {
    return (at[0] << 6 ^ at[1] << 3 ^ at[2]) % HASHES;
}

static void enter(struct stream *s, int at) {
    int h = hash(s->in + at);
    s->before[at] = s->first[h];
    s->first[h] = at;
}

static int longest(const struct stream *s, int at, int *distance) {
    int best = 0, tries = TRIES;
    for (int from = s->first[hash(s->in + at)]; from >= 0 && tries-- > 0; from = s->before[from]) {
        int length = 0;
        while (length < LONGEST && at + length < SIZE && s->in[from + length] == s->in[at + length])
            length++;
        if (length > best) {
            best = length;
            *distance = at - from;
        }
    }
    return best;
}

static void *compress(void *argument) {
    struct stream *s = argument;
    memset(s->first, -1, sizeof s->first);
    put(s, 3, 3);
    for (int at = 0; at < SIZE;) {
        int distance = 0, length = at + 3 <= SIZE ? longest(s, at, &distance) : 0;
        if (length < 3)
            put_symbol(s, s->in[at]), length = 1;
        else
            put_length(s, length), put_distance(s, distance);
        for (int end = at + length; at < end; at++)
            if (at + 3 <= SIZE)
                enter(s, at);
    }
    put_symbol(s, 256);
    put(s, 0, 7);
    return NULL;
}

int main(void) {
    static struct stream streams[2];
    static const char *words[] = {"lock ", "unlock ", "thread ", "wait ", "signal ", "queue ", "the ", "of "};
    pthread_t threads[2];
    unsigned seed = 1;
    for (int i = 0; i < 2; i++) {
        for (size_t at = 0; at < SIZE;) {
            seed = seed * 1103515245 + 12345;
            const char *word = words[seed >> 16 & 7];
            size_t length = strlen(word) < SIZE - at ? strlen(word) : SIZE - at;
            memcpy(streams[i].in + at, word, length);
            at += length;
        }
        pthread_create(&threads[i], NULL, compress, &streams[i]);
    }
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    printf("%zu %zu\n", streams[0].used, streams[1].used);
    if (streams[0].used >= SIZE)
        abort();
    return 0;
}
