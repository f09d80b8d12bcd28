/* Reads and writes shared memory in every way that C has, and notes what it really read and wrote, in
 * code that is not instrumented. At its end it writes the notes to a file, behind a table that tells
 * which part of `shared` lies where. The run file must say the same, access by access.
 *
 * The value that is noted for a plain access is the one that the program goes on with. For ranges and
 * bit-fields it is what lies in memory right after the access: no other thread runs in between. A pointer
 * is noted as its distance from `shared`.
 *
 *     exact FILE THREADS ROUNDS
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef __clang__
#define QUIET __attribute__((noinline, no_sanitize("thread")))
#else
#define QUIET __attribute__((noinline, no_sanitize_thread))
#endif

struct pair {
    int first;
    long second;
};

struct shared {
    char c;
    short s;
    int i;
    long l;
    float f;
    double d;
    long double x;
    __int128 wide;
    _Bool flag;
    void *pointer;
    int row[4];
    struct pair one, two;
    struct four { long a, b, c, d; } from, to;
    char text[40], copy[40];
    volatile int v;
    struct bits {
        unsigned a : 3, b : 5, c : 9;
        unsigned char after;
    } bits;
    _Atomic signed char ac;
    _Atomic short as;
    _Atomic int ai;
    _Atomic long al;
    union {
        int whole;
        short halves[2];
    } either;
} shared;

enum { READ = 1, WRITE = 2, MOST_THREADS = 8 };

struct note {
    uint32_t kind, offset, size, unused;
    unsigned char bytes[48];
};

static struct {
    struct note *notes;
    long count, room;
} noted[MOST_THREADS];

QUIET static void note(int thread, int kind, size_t offset, size_t size, const void *value) {
    if (noted[thread].count == noted[thread].room) {
        static const char full[] = "no room for more notes\n";
        if (write(2, full, sizeof full - 1))
            _exit(3);
    }
    struct note *to = &noted[thread].notes[noted[thread].count++];
    to->kind = kind;
    to->offset = offset;
    to->size = size;
    const volatile unsigned char *from = value;
    for (size_t i = 0; i < size; i++)
        ((volatile unsigned char *)to->bytes)[i] = from[i];
}

#define AT(place) offsetof(struct shared, place)
#define SIZE(place) sizeof(((struct shared *)0)->place)
/* Memory as it is now. */
#define NOW(kind, place, size) note(me, kind, AT(place), size, (const char *)&shared + AT(place))
#define GET(place) \
    __extension__({ __typeof__(shared.place) value_ = shared.place; \
       note(me, READ, AT(place), sizeof value_, &value_); value_; })
#define PUT(place, what) \
    do { __typeof__(shared.place) value_ = (what); shared.place = value_; \
         note(me, WRITE, AT(place), sizeof value_, &value_); } while (0)
/* A read-modify-write of plain memory: what it left tells what it read. */
#define ADD(place, what) \
    do { __typeof__(shared.place) new_, old_; \
         shared.place += (what); \
         peek(&new_, AT(place), sizeof new_); \
         old_ = new_ - (what); \
         note(me, READ, AT(place), sizeof old_, &old_); \
         note(me, WRITE, AT(place), sizeof new_, &new_); } while (0)

QUIET static void peek(void *to, size_t offset, size_t size) {
    const volatile unsigned char *from = (const volatile unsigned char *)&shared + offset;
    for (size_t i = 0; i < size; i++)
        ((volatile unsigned char *)to)[i] = from[i];
}

static unsigned next(unsigned *state) {
    *state = *state * 1103515245u + 12345u;
    return *state >> 16;
}

static void scalars(int me, unsigned n) {
    ADD(c, 1);
    ADD(s, 3);
    ADD(i, (int)(n & 63));
    ADD(l, -1);
    PUT(f, (float)n);
    (void)GET(f);
    PUT(d, n * 0.5);
    (void)GET(d);
    PUT(wide, ((__int128)n << 64) | (n * 7u));
    (void)GET(wide);
    PUT(flag, n & 1);
    (void)GET(flag);
    shared.pointer = &shared.row[n & 3];
    size_t distance = AT(row) + (n & 3) * sizeof(int);
    note(me, WRITE, AT(pointer), sizeof distance, &distance);
    distance = (char *)shared.pointer - (char *)&shared;
    note(me, READ, AT(pointer), sizeof distance, &distance);
    int v = shared.v + 1, before = v - 1;
    note(me, READ, AT(v), sizeof v, &before);
    shared.v = v;
    note(me, WRITE, AT(v), sizeof v, &v);
    PUT(either.whole, (int)n);
    int at = n & 3, value = (int)n;
    shared.row[at] = value;
    note(me, WRITE, AT(row) + at * sizeof(int), sizeof(int), &value);
    value = shared.row[(at + 1) & 3];
    note(me, READ, AT(row) + ((at + 1) & 3) * sizeof(int), sizeof(int), &value);
}

/* x87 stores ten of the sixteen bytes. clang instruments no access of this size. */
static void extended(int me, unsigned n) {
#ifndef __clang__
    shared.x = n;
    NOW(WRITE, x, 16);
#else
    (void)me, (void)n;
#endif
}

static void bit_fields(int me, unsigned n) {
    shared.bits.after = n & 255;
    NOW(WRITE, bits.after, 1);
}

static void structures(int me, unsigned n) {
    PUT(one.first, (int)n);
    PUT(one.second, (long)n);
    shared.two = shared.one;
    NOW(READ, one, sizeof(struct pair));
    NOW(WRITE, two, sizeof(struct pair));
    PUT(from.c, (long)n);
    shared.to = shared.from;
    NOW(READ, from, sizeof(struct four));
    NOW(WRITE, to, sizeof(struct four));
}

static void ranges(int me, unsigned n) {
    memset(shared.text, 'a' + (int)(n % 26), 39);
    NOW(WRITE, text, 39);
    memcpy(shared.copy, shared.text, 40);
    NOW(READ, text, 40);
    NOW(WRITE, copy, 40);
    size_t length = strlen(shared.copy);
    NOW(READ, copy, length + 1);
    memmove(shared.copy + 2, shared.copy, 30);
    NOW(READ, copy, 30);
    note(me, WRITE, AT(copy) + 2, 30, shared.copy + 2);
    memset(&shared.from, 0, sizeof shared.from);
    NOW(WRITE, from, sizeof shared.from);
}

#define RMW(place, new_value, how) \
    do { __typeof__(old_##place) *typed_ = &old_##place; *typed_ = how; new_##place = new_value; \
         note(me, READ, AT(place), SIZE(place), &old_##place); \
         note(me, WRITE, AT(place), SIZE(place), &new_##place); } while (0)

static void atomics(int me, unsigned n) {
    signed char old_ac, new_ac;
    short old_as, new_as;
    int old_ai, new_ai;
    long old_al, new_al;
    RMW(ac, old_ac + 1, atomic_fetch_add(&shared.ac, 1));
    RMW(as, old_as ^ 5, atomic_fetch_xor_explicit(&shared.as, 5, memory_order_relaxed));
    RMW(ai, (int)n, atomic_exchange(&shared.ai, (int)n));
    RMW(al, old_al - 2, atomic_fetch_sub(&shared.al, 2));
    long seen = atomic_load_explicit(&shared.al, memory_order_acquire);
    note(me, READ, AT(al), sizeof seen, &seen);
    long wanted = seen + 1;
    if (atomic_compare_exchange_strong(&shared.al, &seen, wanted)) {
        note(me, READ, AT(al), sizeof seen, &seen);
        note(me, WRITE, AT(al), sizeof wanted, &wanted);
    } else {
        note(me, READ, AT(al), sizeof seen, &seen);
    }
    int value = (int)n;
    atomic_store_explicit(&shared.ai, value, memory_order_release);
    note(me, WRITE, AT(ai), sizeof value, &value);
}

static int rounds;

static void *worker(void *argument) {
    int me = (int)(intptr_t)argument;
    unsigned state = (unsigned)me * 977 + 1;
    for (int round = 0; round < rounds; round++) {
        unsigned n = next(&state);
        scalars(me, n);
        switch (n & 3) {
        case 0: structures(me, n); break;
        case 1: ranges(me, n); break;
        case 2: atomics(me, n); break;
        default: bit_fields(me, n); extended(me, n); break;
        }
    }
    return NULL;
}

#define PART(name) { #name, AT(name), SIZE(name) }
static const struct part {
    const char *name;
    size_t offset, size;
} parts[] = {
    PART(c), PART(s), PART(i), PART(l), PART(f), PART(d), PART(x), PART(wide), PART(flag),
    PART(pointer), PART(row[0]), PART(row[1]), PART(row[2]), PART(row[3]), PART(one.first),
    PART(one.second), PART(two.first), PART(two.second), PART(from.a), PART(from.b), PART(from.c),
    PART(from.d), PART(to.a), PART(to.b), PART(to.c), PART(to.d), PART(v), PART(bits.after), PART(ac),
    PART(as), PART(ai), PART(al), PART(either.halves[0]), PART(either.halves[1]),
};

QUIET static void save(const char *path, int threads) {
    FILE *file = fopen(path, "w");
    if (!file)
        exit(2);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        fprintf(file, "shared.%s %zu %zu\n", parts[i].name, parts[i].offset, parts[i].size);
    for (int i = 0; i < 40; i++) {
        fprintf(file, "shared.text[%d] %zu 1\n", i, AT(text) + i);
        fprintf(file, "shared.copy[%d] %zu 1\n", i, AT(copy) + i);
    }
    fprintf(file, "\n%d\n", threads);
    for (int thread = 0; thread < threads; thread++) {
        fwrite(&noted[thread].count, sizeof(long), 1, file);
        fwrite(noted[thread].notes, sizeof(struct note), noted[thread].count, file);
    }
    if (fclose(file))
        exit(2);
}

int main(int argc, char **argv) {
    if (argc != 4)
        return 2;
    int threads = atoi(argv[2]);
    rounds = atoi(argv[3]);
    pthread_t handles[MOST_THREADS];
    for (int i = 0; i < threads; i++) {
        noted[i].room = rounds * 60L + 60;
        noted[i].notes = malloc(noted[i].room * sizeof(struct note));
    }
    for (int i = 0; i < threads; i++)
        pthread_create(&handles[i], NULL, worker, (void *)(intptr_t)i);
    for (int i = 0; i < threads; i++)
        pthread_join(handles[i], NULL);
    save(argv[1], threads);
    return 0;
}
