// Cells of a ring take the mean of their neighbours, step by step, one thread for each half.
//
// What is wrong: one barrier per step is not enough. A thread that has stored its cells goes on to the next
// step and reads its neighbour's cell before the neighbour has stored it.
//
// expect kind: order-violation
// expect cause: next[i] = (cells[left(i)] + cells[right(i)]) / 2;
// expect interference: cells[i] = next[i];

#include <assert.h>
#include <pthread.h>
#include <stdio.h>

enum { CELLS = 4, THREADS = 2, STEPS = 2, SHARE = CELLS / THREADS };

static int cells[CELLS] = {0, 64, 0, 0};
static pthread_barrier_t computed;

static int left(int i)
{
    return (i + CELLS - 1) % CELLS;
}

static int right(int i)
{
    return (i + 1) % CELLS;
}

static void step(int first)
{
    int next[CELLS];

    for (int i = first; i < first + SHARE; i++)
        next[i] = (cells[left(i)] + cells[right(i)]) / 2;
    pthread_barrier_wait(&computed);
    for (int i = first; i < first + SHARE; i++)
        cells[i] = next[i];
}

static void *simulate(void *arg)
{
    int *first = arg;
    for (int i = 0; i < STEPS; i++)
        step(*first);
    return NULL;
}

int main(void)
{
    pthread_t threads[THREADS];
    int first[THREADS];

    pthread_barrier_init(&computed, NULL, THREADS);
    for (int i = 0; i < THREADS; i++) {
        first[i] = i * SHARE;
        pthread_create(&threads[i], NULL, simulate, &first[i]);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);

    printf("%d %d %d %d\n", cells[0], cells[1], cells[2], cells[3]);
    assert(cells[0] == 0 && cells[1] == 32 && cells[2] == 0 && cells[3] == 32);
    return 0;
}
