/* Atomic operations on 16 bytes: threads count both halves up, with every kind of operation. */
#include <assert.h>
#include <pthread.h>

typedef unsigned __int128 wide;

static wide shared;
static wide other = ((wide)1 << 64) | 1;
static const wide one = ((wide)1 << 64) | 1;

static void *worker(void *argument) {
    for (int i = 0; i < 3; i++) {
        wide seen = __atomic_load_n(&shared, __ATOMIC_ACQUIRE);
        while (!__atomic_compare_exchange_n(&shared, &seen, seen + one, 0, __ATOMIC_ACQ_REL,
                                            __ATOMIC_RELAXED))
            assert((unsigned long)seen == (unsigned long)(seen >> 64));
        __atomic_fetch_add(&shared, one, __ATOMIC_RELAXED);
        __atomic_fetch_sub(&shared, one, __ATOMIC_RELAXED);
        __atomic_store_n(&other, one * 7, __ATOMIC_RELEASE);
        wide found = __atomic_exchange_n(&other, one * 5, __ATOMIC_SEQ_CST);
        assert(found == one * 7 || found == one * 5);
    }
    return argument;
}

int main(void) {
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, worker, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    assert(shared == one * 6);
    return 0;
}
