/* Atomic operations of every kind, size and memory order, in every way that C can write them, and a note
 * of each: kind, place, order, value, what was there before. The notes go to a file, one line each and a
 * thread after the other; the run file must say the same.
 *
 *     orders FILE THREADS
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef __clang__
#define QUIET __attribute__((noinline, no_sanitize("thread")))
/* clang knows no `consume`: it compiles it as `acquire`. */
#define WRITTEN(order) ((order) == memory_order_consume ? memory_order_acquire : (order))
#else
#define QUIET __attribute__((noinline, no_sanitize_thread))
#define WRITTEN(order) (order)
#endif

struct three { unsigned char a, b, c; };
struct twelve { int a, b, c; };
struct long_three { long a, b, c; };

struct shared {
    _Atomic signed char c;
    _Atomic short s;
    _Atomic int i;
    _Atomic long l;
    _Atomic _Bool truth;
    _Atomic float f;
    _Atomic double d;
    _Atomic(int *) pointer;
    atomic_flag flag;
    signed char plain_c;
    short plain_s;
    int plain_i;
    long plain_l;
    struct three odd;
    struct twelve twelve;
    _Atomic struct long_three large;
} shared;

enum { MOST_THREADS = 4, ROOM = 4000 };

struct note {
    const char *kind, *place;
    int order;
    unsigned long value, old;
};

static struct note notes[MOST_THREADS][ROOM];
static int counts[MOST_THREADS];
static int targets[4];

QUIET static void note_as(int me, const char *kind, const char *place, int order, unsigned long value,
                          unsigned long old) {
    struct note *to = &notes[me][counts[me]++];
    if (counts[me] == ROOM)
        abort();
    to->kind = kind;
    to->place = place;
    to->order = order;
    to->value = value;
    to->old = old;
}

#define note(me, kind, place, order, value, old) note_as(me, kind, place, WRITTEN(order), value, old)

/* The bits of a value. */
#define BITS(what) \
    __extension__({ __typeof__(what) given_ = (what); unsigned long bits_ = 0; \
       bits_of(&bits_, &given_, sizeof given_); bits_; })

QUIET static void bits_of(unsigned long *to, const void *from, size_t bytes) {
    for (size_t i = 0; i < bytes && i < sizeof *to; i++)
        ((volatile unsigned char *)to)[i] = ((const volatile unsigned char *)from)[i];
}

#define RELAXED memory_order_relaxed
#define CONSUME memory_order_consume
#define ACQUIRE memory_order_acquire
#define RELEASE memory_order_release
#define ACQ_REL memory_order_acq_rel
#define SEQ_CST memory_order_seq_cst

#define OF_LOADS(DO, ...) \
    DO(RELAXED, __VA_ARGS__) DO(CONSUME, __VA_ARGS__) DO(ACQUIRE, __VA_ARGS__) DO(SEQ_CST, __VA_ARGS__)
#define OF_STORES(DO, ...) DO(RELAXED, __VA_ARGS__) DO(RELEASE, __VA_ARGS__) DO(SEQ_CST, __VA_ARGS__)
#define OF_CHANGES(DO, ...) \
    DO(RELAXED, __VA_ARGS__) DO(CONSUME, __VA_ARGS__) DO(ACQUIRE, __VA_ARGS__) \
    DO(RELEASE, __VA_ARGS__) DO(ACQ_REL, __VA_ARGS__) DO(SEQ_CST, __VA_ARGS__)
/* A failure may not be ordered more strongly than a success was before C17. */
#define OF_PAIRS(DO, ...) \
    DO(RELAXED, RELAXED, __VA_ARGS__) DO(CONSUME, RELAXED, __VA_ARGS__) \
    DO(CONSUME, CONSUME, __VA_ARGS__) DO(ACQUIRE, RELAXED, __VA_ARGS__) \
    DO(ACQUIRE, ACQUIRE, __VA_ARGS__) DO(RELEASE, RELAXED, __VA_ARGS__) \
    DO(ACQ_REL, RELAXED, __VA_ARGS__) DO(ACQ_REL, ACQUIRE, __VA_ARGS__) \
    DO(SEQ_CST, RELAXED, __VA_ARGS__) DO(SEQ_CST, CONSUME, __VA_ARGS__) \
    DO(SEQ_CST, ACQUIRE, __VA_ARGS__) DO(SEQ_CST, SEQ_CST, __VA_ARGS__)

#define LOAD(order, place) \
    note(me, "atomic-read", #place, order, BITS(atomic_load_explicit(&shared.place, order)), 0);
#define STORE(order, place, what) \
    do { __typeof__(atomic_load(&unused.place)) what_ = (what); \
         atomic_store_explicit(&shared.place, what_, order); \
         note(me, "atomic-write", #place, order, BITS(what_), 0); } while (0);
#define EXCHANGE(order, place, what) \
    do { __typeof__(atomic_load(&unused.place)) what_ = (what); \
         unsigned long old_ = BITS(atomic_exchange_explicit(&shared.place, what_, order)); \
         note(me, "rmw", #place, order, BITS(what_), old_); } while (0);
#define FETCH(order, place, operation, sign, what) \
    do { __typeof__(atomic_load(&unused.place)) old_, new_; \
         old_ = atomic_fetch_##operation##_explicit(&shared.place, what, order); \
         new_ = old_ sign (what); \
         note(me, "rmw", #place, order, BITS(new_), BITS(old_)); } while (0);
#define COMPARE(success, failure, how, place, guess, what) \
    do { __typeof__(atomic_load(&unused.place)) guess_ = (guess), what_ = (what); \
         unsigned long was_ = BITS(guess_); \
         if (atomic_compare_exchange_##how##_explicit(&shared.place, &guess_, what_, success, failure)) \
             note(me, "rmw", #place, success, BITS(what_), was_); \
         else \
             note(me, "atomic-read", #place, failure, BITS(guess_), 0); } while (0);

/* Only its types are looked at. */
extern struct shared unused;

#define NUMBER(place) \
    OF_LOADS(LOAD, place) \
    OF_STORES(STORE, place, n++ & 63) \
    OF_CHANGES(EXCHANGE, place, n++ & 63) \
    OF_CHANGES(FETCH, place, add, +, 3) \
    OF_CHANGES(FETCH, place, sub, -, 2) \
    OF_CHANGES(FETCH, place, and, &, 0x5b) \
    OF_CHANGES(FETCH, place, or, |, 5) \
    OF_CHANGES(FETCH, place, xor, ^, 6) \
    OF_PAIRS(COMPARE, strong, place, n & 63, n++ & 31) \
    OF_PAIRS(COMPARE, strong, place, atomic_peek_##place(), n++ & 31) \
    OF_PAIRS(COMPARE, weak, place, n & 63, n++ & 31) \
    OF_PAIRS(COMPARE, weak, place, atomic_peek_##place(), n++ & 31)

#define VALUE(place, what) \
    OF_LOADS(LOAD, place) \
    OF_STORES(STORE, place, what) \
    OF_CHANGES(EXCHANGE, place, what) \
    OF_PAIRS(COMPARE, strong, place, what, what) \
    OF_PAIRS(COMPARE, weak, place, atomic_peek_##place(), what)

/* What is there now, so that an exchange is likely to succeed. */
#define PEEK(type, place) \
    QUIET static type atomic_peek_##place(void) { \
        type value_; \
        const volatile unsigned char *from = (const volatile unsigned char *)&shared.place; \
        for (size_t i = 0; i < sizeof value_; i++) \
            ((volatile unsigned char *)&value_)[i] = from[i]; \
        return value_; \
    }
PEEK(signed char, c)
PEEK(short, s)
PEEK(int, i)
PEEK(long, l)
PEEK(_Bool, truth)
PEEK(float, f)
PEEK(double, d)

static void standard(int me) {
    static _Thread_local unsigned n;
    NUMBER(c)
    NUMBER(s)
    NUMBER(i)
    NUMBER(l)
    VALUE(truth, n++ & 1)
    VALUE(f, 0.5f * (n++ & 7))
    VALUE(d, 0.25 * (n++ & 7))
}

static void pointers(int me) {
    /* An address is another one in every run: its place counts. */
    for (int k = 0; k < 4; k++) {
        atomic_store_explicit(&shared.pointer, &targets[k], k & 1 ? RELAXED : RELEASE);
        note(me, "atomic-write", "pointer", k & 1 ? RELAXED : RELEASE, ~0ul, 0);
        (void)atomic_load_explicit(&shared.pointer, k & 1 ? CONSUME : ACQUIRE);
        note(me, "atomic-read", "pointer", k & 1 ? CONSUME : ACQUIRE, ~0ul, 0);
        (void)atomic_exchange_explicit(&shared.pointer, &targets[k], ACQ_REL);
        note(me, "rmw", "pointer", ACQ_REL, ~0ul, ~0ul);
    }
}

static void flags(int me) {
#define SET(order, ...) \
    do { _Bool old_ = atomic_flag_test_and_set_explicit(&shared.flag, order); \
         note(me, "rmw", "flag", order, 1, old_); } while (0);
#define CLEAR(order, ...) \
    atomic_flag_clear_explicit(&shared.flag, order); \
    note(me, "atomic-write", "flag", order, 0, 0);
    OF_CHANGES(SET, 0)
    OF_STORES(CLEAR, 0)
    OF_CHANGES(SET, 0)
}

static void fences(int me) {
#define FENCE(order, ...) \
    atomic_thread_fence(order); \
    note(me, "fence", "", order, 0, 0); \
    /* Orders the compiler only: no step of the program. */ \
    atomic_signal_fence(order);
    FENCE(CONSUME)
    FENCE(ACQUIRE)
    FENCE(RELEASE)
    FENCE(ACQ_REL)
    FENCE(SEQ_CST)
    __sync_synchronize();
    note(me, "fence", "", SEQ_CST, 0, 0);
}

/* Operators on `_Atomic` objects are sequentially consistent. */
static void operators(int me) {
    int old = shared.i++;
    note(me, "rmw", "i", SEQ_CST, (unsigned)(old + 1), (unsigned)old);
    shared.l -= 4;
    long new = atomic_peek_l();
    note(me, "rmw", "l", SEQ_CST, new, new + 4);
    new = shared.l;
    note(me, "atomic-read", "l", SEQ_CST, new, 0);
    shared.s = 7;
    note(me, "atomic-write", "s", SEQ_CST, 7, 0);
}

/* Nobody else does this at the time: how often it is tried is known. */
static void arithmetic(int me) {
    float f = atomic_load(&shared.f);
    note(me, "atomic-read", "f", SEQ_CST, BITS(f), 0);
    shared.f += 1.5f;
    note(me, "atomic-read", "f", SEQ_CST, BITS(f), 0);
    note(me, "rmw", "f", SEQ_CST, BITS(f + 1.5f), BITS(f));
    double d = atomic_load(&shared.d);
    note(me, "atomic-read", "d", SEQ_CST, BITS(d), 0);
    shared.d *= 2;
    note(me, "atomic-read", "d", SEQ_CST, BITS(d), 0);
    note(me, "rmw", "d", SEQ_CST, BITS(d * 2), BITS(d));
}

/* The old builtins of gcc, on objects that are not `_Atomic`. */
#define OLD(place) \
    do { __typeof__(shared.place) old, new, guess; \
        old = __sync_fetch_and_add(&shared.place, 5), new = old + 5; \
        note(me, "rmw", #place, SEQ_CST, BITS(new), BITS(old)); \
        old = __sync_fetch_and_sub(&shared.place, 2), new = old - 2; \
        note(me, "rmw", #place, SEQ_CST, BITS(new), BITS(old)); \
        old = __sync_fetch_and_or(&shared.place, 8), new = old | 8; \
        note(me, "rmw", #place, SEQ_CST, BITS(new), BITS(old)); \
        old = __sync_fetch_and_and(&shared.place, 31), new = old & 31; \
        note(me, "rmw", #place, SEQ_CST, BITS(new), BITS(old)); \
        old = __sync_fetch_and_xor(&shared.place, 3), new = old ^ 3; \
        note(me, "rmw", #place, SEQ_CST, BITS(new), BITS(old)); \
        old = __sync_fetch_and_nand(&shared.place, 6), new = ~(old & 6); \
        note(me, "rmw", #place, SEQ_CST, BITS(new), BITS(old)); \
        new = __sync_add_and_fetch(&shared.place, 5), old = new - 5; \
        note(me, "rmw", #place, SEQ_CST, BITS(new), BITS(old)); \
        new = __sync_sub_and_fetch(&shared.place, 2), old = new + 2; \
        note(me, "rmw", #place, SEQ_CST, BITS(new), BITS(old)); \
        new = __sync_xor_and_fetch(&shared.place, 2), old = new ^ 2; \
        note(me, "rmw", #place, SEQ_CST, BITS(new), BITS(old)); \
        old = __sync_lock_test_and_set(&shared.place, 9), new = 9; \
        note(me, "rmw", #place, LOCK_TAKEN, BITS(new), BITS(old)); \
        guess = 9; \
        old = __sync_val_compare_and_swap(&shared.place, guess, 4), new = 4; \
        if (old == guess) \
            note(me, "rmw", #place, SEQ_CST, BITS(new), BITS(old)); \
        else \
            note(me, "atomic-read", #place, SEQ_CST, BITS(old), 0); \
        __sync_lock_release(&shared.place), new = 0; \
        note(me, "atomic-write", #place, RELEASE, BITS(new), 0); \
    } while (0)

#ifdef __clang__
#define LOCK_TAKEN SEQ_CST
#else
#define LOCK_TAKEN ACQUIRE
#endif

static void old_builtins(int me) {
    OLD(plain_c);
    OLD(plain_s);
    OLD(plain_i);
    OLD(plain_l);
}

/* The generic builtins, with places for the values. */
#define GENERIC_LOAD(order, place) \
    do { __typeof__(shared.place) found; \
         __atomic_load(&shared.place, &found, order); \
         note(me, "atomic-read", #place, order, BITS(found), 0); } while (0);
#define GENERIC_STORE(order, place, what) \
    do { __typeof__(shared.place) what_ = (what); \
         __atomic_store(&shared.place, &what_, order); \
         note(me, "atomic-write", #place, order, BITS(what_), 0); } while (0);
#define GENERIC_EXCHANGE(order, place, what) \
    do { __typeof__(shared.place) what_ = (what), old_; \
         __atomic_exchange(&shared.place, &what_, &old_, order); \
         note(me, "rmw", #place, order, BITS(what_), BITS(old_)); } while (0);
#define GENERIC_COMPARE(success, failure, place, guess, what) \
    do { __typeof__(shared.place) guess_ = (guess), what_ = (what); \
         unsigned long was_ = BITS(guess_); \
         if (__atomic_compare_exchange(&shared.place, &guess_, &what_, 0, success, failure)) \
             note(me, "rmw", #place, success, BITS(what_), was_); \
         else \
             note(me, "atomic-read", #place, failure, BITS(guess_), 0); } while (0);
#define GENERIC(place) \
    OF_LOADS(GENERIC_LOAD, place) \
    OF_STORES(GENERIC_STORE, place, n++ & 63) \
    OF_CHANGES(GENERIC_EXCHANGE, place, n++ & 63) \
    OF_PAIRS(GENERIC_COMPARE, place, n & 7, n++ & 7)

static void generic_builtins(int me) {
    unsigned n = 1;
    GENERIC(plain_c)
    GENERIC(plain_s)
    GENERIC(plain_i)
    GENERIC(plain_l)
}

/* Sizes that the machine has no instruction for: functions of libatomic, which get the order as it is. */
#define EACH(kind, order, now, was) \
    note_as(me, kind, FIELD("a"), order, BITS((now).a), BITS((was).a)); \
    note_as(me, kind, FIELD("b"), order, BITS((now).b), BITS((was).b)); \
    note_as(me, kind, FIELD("c"), order, BITS((now).c), BITS((was).c));

#define ODD_LOAD(order, place) \
    do { __typeof__(shared.place) found, none = {0, 0, 0}; \
         __atomic_load(&shared.place, &found, order); \
         EACH("atomic-read", order, found, none) } while (0);
#define ODD_STORE(order, place, what) \
    do { __typeof__(shared.place) what_ = {n, n + 1, n + 2}, none = {0, 0, 0}; \
         __atomic_store(&shared.place, &what_, order); n++; \
         EACH("atomic-write", order, what_, none) } while (0);
#define ODD_EXCHANGE(order, place, what) \
    do { __typeof__(shared.place) what_ = {n, n + 1, n + 2}, old_; \
         __atomic_exchange(&shared.place, &what_, &old_, order); n++; \
         EACH("rmw", order, what_, old_) } while (0);
#define ODD_COMPARE(success, failure, place, what) \
    do { __typeof__(shared.place) what_ = {n, n + 1, n + 2}, guess_, was_, none = {0, 0, 0}; n++; \
         peek(&guess_, &shared.place, sizeof guess_); \
         if (n & 1) guess_.b++; \
         peek(&was_, &guess_, sizeof was_); \
         if (__atomic_compare_exchange(&shared.place, &guess_, &what_, 0, success, failure)) \
             { EACH("rmw", success, what_, was_) } \
         else \
             { EACH("atomic-read", failure, guess_, none) } } while (0);
#define ODD(place) \
    OF_STORES(ODD_STORE, place, 0) \
    OF_LOADS(ODD_LOAD, place) \
    OF_CHANGES(ODD_EXCHANGE, place, 0) \
    OF_PAIRS(ODD_COMPARE, place, 0)

QUIET static void peek(void *to, const void *from, size_t bytes) {
    for (size_t i = 0; i < bytes; i++)
        ((volatile unsigned char *)to)[i] = ((const volatile unsigned char *)from)[i];
}

static void odd_sizes(int me) {
    unsigned n = 1;
#define FIELD(name) "odd." name
    ODD(odd)
#undef FIELD
#define FIELD(name) "twelve." name
    ODD(twelve)
#undef FIELD
}

static void large(int me) {
#define FIELD(name) "large." name
    struct long_three what = {1, 2, 3}, none = {0, 0, 0};
    what.a += me;
    atomic_store_explicit(&shared.large, what, RELEASE);
    EACH("atomic-write", RELEASE, what, none)
    struct long_three found = atomic_load_explicit(&shared.large, ACQUIRE);
    EACH("atomic-read", ACQUIRE, found, none)
    found = shared.large;
    EACH("atomic-read", SEQ_CST, found, none)
    struct long_three old = atomic_exchange(&shared.large, what);
    EACH("rmw", SEQ_CST, what, old)
#undef FIELD
}

static void *worker(void *argument) {
    int me = (int)(intptr_t)argument;
    standard(me);
    pointers(me);
    flags(me);
    fences(me);
    operators(me);
    old_builtins(me);
    generic_builtins(me);
    odd_sizes(me);
    large(me);
    return NULL;
}

static const char *const ORDERS[] = {"relaxed", "consume", "acquire", "release", "acq_rel", "seq_cst"};

QUIET static void save(const char *path, int threads) {
    FILE *file = fopen(path, "w");
    if (!file)
        exit(2);
    for (int thread = 0; thread < threads; thread++)
        for (int i = 0; i < counts[thread]; i++) {
            struct note *one = &notes[thread][i];
            fprintf(file, "%d %s %s%s %s %lx %lx\n", thread, one->kind, *one->place ? "shared." : "-",
                    one->place, ORDERS[one->order], one->value, one->old);
        }
    if (fclose(file))
        exit(2);
}

int main(int argc, char **argv) {
    if (argc != 3)
        return 2;
    int threads = atoi(argv[2]);
    pthread_t handles[MOST_THREADS];
    arithmetic(0);
    for (int i = 1; i < threads; i++)
        pthread_create(&handles[i], NULL, worker, (void *)(intptr_t)i);
    for (int i = 1; i < threads; i++)
        pthread_join(handles[i], NULL);
    save(argv[1], threads);
    return 0;
}
