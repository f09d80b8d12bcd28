// Adding to a word on a processor that can only swap: the sum is swapped in, and what comes out has to be
// what was read before. If not, it is put back, and all is done again.
//
// What is wrong: between the swap and putting back others may have added, and that is lost.
//
// After bug 3584 of libstdc++ (its atomic functions for ARM).
//
// expect kind: atomicity-violation
// expect cause: int seen = atomic_exchange(&word, old + value);
// expect cause: atomic_exchange(&word, seen);
// expect interference: int seen = atomic_exchange(&word, old + value);

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

static atomic_int word;

static void add(int value)
{
    for (;;) {
        int old = atomic_load(&word);
        int seen = atomic_exchange(&word, old + value);
        if (seen == old)
            return;
        atomic_exchange(&word, seen);
    }
}

static void *add_once(void *arg)
{
    add(1);
    return arg;
}

static void *add_twice(void *arg)
{
    add(1);
    add(2);
    return arg;
}

int main(void)
{
    pthread_t threads[2];

    pthread_create(&threads[0], NULL, add_once, NULL);
    pthread_create(&threads[1], NULL, add_twice, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    assert(atomic_load(&word) == 4);
    return 0;
}
