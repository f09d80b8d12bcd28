// Benchmark: a radix sort by two threads that meet at barriers.

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

enum { THREADS = 2, BITS = 8, DIGITS = 1 << BITS };

static unsigned *from, *to;
static long count = 30000;
static long counts[THREADS][DIGITS], starts[THREADS][DIGITS];
static pthread_barrier_t barrier;

static void find_starts(void)
{
    long start = 0;
    for (int digit = 0; digit < DIGITS; digit++)
        for (int thread = 0; thread < THREADS; thread++) {
            starts[thread][digit] = start;
            start += counts[thread][digit];
        }
}

static void *work(void *arg)
{
    long self = (long)arg, first = count * self / THREADS, last = count * (self + 1) / THREADS;
    for (int shift = 0; shift < 32; shift += BITS) {
        for (int digit = 0; digit < DIGITS; digit++)
            counts[self][digit] = 0;
        for (long i = first; i < last; i++)
            counts[self][from[i] >> shift & (DIGITS - 1)]++;
        pthread_barrier_wait(&barrier);
        if (self == 0)
            find_starts();
        pthread_barrier_wait(&barrier);
        for (long i = first; i < last; i++)
            to[starts[self][from[i] >> shift & (DIGITS - 1)]++] = from[i];
        pthread_barrier_wait(&barrier);
        if (self == 0) {
            unsigned *old = from;
            from = to;
            to = old;
        }
        pthread_barrier_wait(&barrier);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    unsigned state = 1;

    if (argc > 1)
        count = atol(argv[1]);
    from = malloc((size_t)count * sizeof *from);
    to = malloc((size_t)count * sizeof *to);
    for (long i = 0; i < count; i++)
        from[i] = state = state * 1664525u + 1013904223u;
    pthread_barrier_init(&barrier, NULL, THREADS);
    for (long i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, work, (void *)i);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (long i = 1; i < count; i++)
        assert(from[i - 1] <= from[i]);
    return 0;
}
