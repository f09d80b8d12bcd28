// Atomic operations of the C++ library, and a note of each as in orders.c. What has more than one
// thread is in the last part; before that it is known how often a loop inside the library tries.
//
//     orders FILE THREADS
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>

#ifdef __clang__
#define QUIET __attribute__((noinline, no_sanitize("thread")))
#else
#define QUIET __attribute__((noinline, no_sanitize_thread))
#endif

namespace {

using order = std::memory_order;
constexpr order RELAXED = order::relaxed, CONSUME = order::consume, ACQUIRE = order::acquire,
                RELEASE = order::release, ACQ_REL = order::acq_rel, SEQ_CST = order::seq_cst;

struct note_of {
    const char *kind, *place;
    int order;
    unsigned long value, old;
};

constexpr int MOST_THREADS = 4, ROOM = 1000;
note_of notes[MOST_THREADS][ROOM];
int counts[MOST_THREADS];

int number(order o) {
#ifdef __clang__
    // clang knows no `consume`: it compiles it as `acquire`.
    if (o == CONSUME)
        o = ACQUIRE;
#endif
    return static_cast<int>(o);
}

template <typename T> QUIET unsigned long bits(T value) {
    unsigned long to = 0;
    for (size_t i = 0; i < sizeof value && i < sizeof to; i++)
        reinterpret_cast<volatile unsigned char *>(&to)[i] =
            reinterpret_cast<const volatile unsigned char *>(&value)[i];
    return to;
}

QUIET void note(int me, const char *kind, const char *place, order o, unsigned long value,
                unsigned long old = 0) {
    note_of &to = notes[me][counts[me]++];
    if (counts[me] == ROOM)
        std::abort();
    to = {kind, place, number(o), value, old};
}

struct pair {
    int a, b;
};

} // namespace

struct {
    std::atomic<int> i;
    std::atomic<unsigned char> c;
    std::atomic<bool> truth;
    std::atomic<float> f;
    std::atomic<double> d;
    std::atomic<pair> both;
    std::atomic_flag flag;
    alignas(8) long plain;
    alignas(8) double plain_d;
} shared;

std::atomic<std::shared_ptr<int>> handed_on;

namespace {

void integers(int me) {
    for (order o : {RELAXED, CONSUME, ACQUIRE, SEQ_CST})
        note(me, "atomic-read", "i", o, static_cast<unsigned>(shared.i.load(o)));
    for (order o : {RELAXED, RELEASE, SEQ_CST}) {
        shared.c.store(7, o);
        note(me, "atomic-write", "c", o, 7);
    }
    for (order o : {RELAXED, CONSUME, ACQUIRE, RELEASE, ACQ_REL, SEQ_CST}) {
        int old = shared.i.fetch_add(3, o);
        note(me, "rmw", "i", o, static_cast<unsigned>(old + 3), static_cast<unsigned>(old));
        old = shared.i.exchange(me, o);
        note(me, "rmw", "i", o, static_cast<unsigned>(me), static_cast<unsigned>(old));
        bool was = shared.truth.exchange(true, o);
        note(me, "rmw", "truth", o, 1, was);
    }
}

template <order SUCCESS, order FAILURE> void compare(int me) {
    for (int guess : {0, 1, 2}) {
        int found = guess;
        if (shared.i.compare_exchange_strong(found, me, SUCCESS, FAILURE))
            note(me, "rmw", "i", SUCCESS, me, guess);
        else
            note(me, "atomic-read", "i", FAILURE, found);
    }
}

void exchanges(int me) {
    compare<RELAXED, RELAXED>(me);
    compare<ACQUIRE, RELAXED>(me);
    compare<RELEASE, RELAXED>(me);
    compare<ACQ_REL, ACQUIRE>(me);
    compare<SEQ_CST, ACQUIRE>(me);
    compare<SEQ_CST, SEQ_CST>(me);
    // Stronger when it fails: as C++17 allows.
    compare<RELEASE, ACQUIRE>(me);
    // One order for both: the library makes of it what a failure may have.
    int guess = 99;
    if (!shared.i.compare_exchange_weak(guess, 1, ACQ_REL))
        note(me, "atomic-read", "i", ACQUIRE, guess);
}

void flags(int me) {
    bool was = shared.flag.test_and_set(ACQUIRE);
    note(me, "rmw", "flag", ACQUIRE, 1, was);
    note(me, "atomic-read", "flag", RELAXED, shared.flag.test(RELAXED));
    shared.flag.clear(RELEASE);
    note(me, "atomic-write", "flag", RELEASE, 0);
}

void structures(int me) {
    pair old = shared.both.exchange({me, 2}, ACQ_REL);
    note(me, "rmw", "both", ACQ_REL, bits(pair{me, 2}), bits(old));
    pair now = shared.both.load(ACQUIRE);
    note(me, "atomic-read", "both", ACQUIRE, bits(now));
    shared.both = {me, 5};
    note(me, "atomic-write", "both", SEQ_CST, bits(pair{me, 5}));
}

// An object that is atomic only as long as it is referred to as such.
void references(int me) {
    std::atomic_ref<long> plain(shared.plain);
    long old = plain.fetch_or(me, RELEASE);
    note(me, "rmw", "plain", RELEASE, old | me, old);
    note(me, "atomic-read", "plain", ACQUIRE, plain.load(ACQUIRE));
    plain.store(me, RELAXED);
    note(me, "atomic-write", "plain", RELAXED, me);
    std::atomic_ref<double> fraction(shared.plain_d);
    fraction.store(me * 0.5, RELEASE);
    note(me, "atomic-write", "plain_d", RELEASE, bits(me * 0.5));
    double found = fraction.load(ACQUIRE);
    note(me, "atomic-read", "plain_d", ACQUIRE, bits(found));
}

// The library tries until it succeeds: alone that is at once.
void arithmetic(int me) {
    float f = shared.f.fetch_add(1.5f, ACQ_REL);
    note(me, "atomic-read", "f", RELAXED, bits(f));
    note(me, "rmw", "f", ACQ_REL, bits(f + 1.5f), bits(f));
    double d = shared.d -= 2.0;
    note(me, "atomic-read", "d", RELAXED, bits(d + 2.0));
    note(me, "rmw", "d", SEQ_CST, bits(d), bits(d + 2.0));
}

void fences(int me) {
    std::atomic_thread_fence(ACQUIRE);
    note(me, "fence", "", ACQUIRE, 0);
    std::atomic_signal_fence(SEQ_CST);
    std::atomic_thread_fence(SEQ_CST);
    note(me, "fence", "", SEQ_CST, 0);
}

void worker(int me) {
    integers(me);
    exchanges(me);
    flags(me);
    structures(me);
    references(me);
    fences(me);
}

// Not noted: what the library does for it is its own affair. But it must be right.
void pass_on(int me) {
    for (int i = 0; i < 3; i++) {
        auto mine = std::make_shared<int>(me * 10 + i);
        auto before = handed_on.exchange(mine);
        if (before && *before / 10 > MOST_THREADS)
            std::abort();
        auto now = handed_on.load();
        if (!now || *now / 10 > MOST_THREADS)
            std::abort();
    }
}

QUIET void save(const char *path, int threads) {
    static const char *const names[] = {"relaxed", "consume", "acquire", "release", "acq_rel", "seq_cst"};
    FILE *file = std::fopen(path, "w");
    if (!file)
        std::exit(2);
    for (int thread = 0; thread < threads; thread++)
        for (int i = 0; i < counts[thread]; i++) {
            const note_of &one = notes[thread][i];
            std::fprintf(file, "%d %s %s%s %s %lx %lx\n", thread, one.kind,
                         *one.place ? "shared." : "-", one.place, names[one.order], one.value, one.old);
        }
    if (std::fclose(file))
        std::exit(2);
}

} // namespace

int main(int argc, char **argv) {
    if (argc != 3)
        return 2;
    int threads = std::atoi(argv[2]);
    arithmetic(0);
    std::vector<std::thread> all;
    for (int i = 1; i < threads; i++)
        all.emplace_back([i] {
            worker(i);
            pass_on(i);
        });
    for (auto &one : all)
        one.join();
    handed_on.store(nullptr);
    save(argv[1], threads);
}
