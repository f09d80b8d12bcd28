/* Heat along a rod, in steps. Each worker has a part of the rod; a barrier between reading the old
   temperatures and making the new ones the old. The sum of heat stays the same. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

#define CELLS 6
#define WORKERS 3
#define STEPS 3

struct barrier {
    pthread_mutex_t lock;
    pthread_cond_t all_here;
    int members;
    int arrived;
    unsigned round;
};

static struct barrier gate = {
    .lock = PTHREAD_MUTEX_INITIALIZER,
    .all_here = PTHREAD_COND_INITIALIZER,
};

static long rod[2][CELLS];
static int current;
static int steps_done;
static atomic_int moved;
static long hottest[STEPS];

static void barrier_setup(struct barrier *b, int members)
{
    b->arrived = 0;
    b->round = 0;
    b->members = members;
}

/* Returns 1 to the last one who comes. */
static int barrier_meet(struct barrier *b)
{
    int last = 0;

    pthread_mutex_lock(&b->lock);
    unsigned round = b->round;
    if (++b->arrived == b->members) {
        b->arrived = 0;
        b->round++;
        last = 1;
        pthread_cond_broadcast(&b->all_here);
    } else {
        while (b->round == round)
            pthread_cond_wait(&b->all_here, &b->lock);
    }
    pthread_mutex_unlock(&b->lock);
    return last;
}

static long flow(const long *old, int a, int b)
{
    if (b < 0 || b >= CELLS)
        return 0;
    return (old[a] - old[b]) / 4;
}

static void finish_step(void)
{
    long top = 0;

    current = 1 - current;
    for (int i = 0; i < CELLS; i++)
        if (rod[current][i] > top)
            top = rod[current][i];
    hottest[steps_done] = top;
    steps_done++;
}

static void *work(void *arg)
{
    int me = *(int *)arg, width = CELLS / WORKERS;

    for (int step = 0; step < STEPS; step++) {
        const long *old = rod[current];
        long *new = rod[1 - current];

        for (int i = me * width; i < (me + 1) * width; i++) {
            new[i] = old[i] - flow(old, i, i - 1) - flow(old, i, i + 1);
            if (new[i] != old[i])
                atomic_fetch_add(&moved, 1);
        }
        if (barrier_meet(&gate))
            finish_step();
        barrier_meet(&gate);
        assert(steps_done == step + 1);
    }
    return NULL;
}

static void expected(long *cells, int *changes)
{
    long next[CELLS];

    *changes = 0;
    for (int step = 0; step < STEPS; step++) {
        for (int i = 0; i < CELLS; i++) {
            next[i] = cells[i] - flow(cells, i, i - 1) - flow(cells, i, i + 1);
            *changes += next[i] != cells[i];
        }
        for (int i = 0; i < CELLS; i++)
            cells[i] = next[i];
    }
}

int main(void)
{
    pthread_t threads[WORKERS];
    int numbers[WORKERS], changes;
    long want[CELLS] = { 4096, 0, 0, 1024, 0, 64 };

    for (int i = 0; i < CELLS; i++)
        rod[0][i] = want[i];
    barrier_setup(&gate, WORKERS);
    for (int i = 0; i < WORKERS; i++) {
        numbers[i] = i;
        pthread_create(&threads[i], NULL, work, &numbers[i]);
    }
    for (int i = 0; i < WORKERS; i++)
        pthread_join(threads[i], NULL);

    expected(want, &changes);
    for (int i = 0; i < CELLS; i++)
        assert(rod[current][i] == want[i]);
    assert(atomic_load(&moved) == changes);
    for (int i = 1; i < STEPS; i++)
        assert(hottest[i] <= hottest[i - 1]);
    return 0;
}
