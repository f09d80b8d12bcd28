// Benchmark: LU decomposition without pivots, rows shared out between two threads that meet at a barrier.

#include <assert.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>

enum { MOST = 256, THREADS = 2 };

static double matrix[MOST][MOST];
static long size = 96;
static pthread_barrier_t barrier;

static void *work(void *arg)
{
    long self = (long)arg;
    for (long step = 0; step < size; step++) {
        for (long row = step + 1; row < size; row++) {
            if (row % THREADS != self)
                continue;
            double factor = matrix[row][step] / matrix[step][step];
            matrix[row][step] = factor;
            for (long column = step + 1; column < size; column++)
                matrix[row][column] -= factor * matrix[step][column];
        }
        pthread_barrier_wait(&barrier);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];

    if (argc > 1)
        size = atol(argv[1]);
    assert(size <= MOST);
    for (long row = 0; row < size; row++)
        for (long column = 0; column < size; column++)
            matrix[row][column] = row == column ? (double)size : 1.0 / (double)(row + column + 1);
    pthread_barrier_init(&barrier, NULL, THREADS);
    for (long i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, work, (void *)i);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assert(isfinite(matrix[size - 1][size - 1]));
    return 0;
}
