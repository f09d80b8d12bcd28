// A relaxation in phases: workers meet at a barrier after each phase and stop when little changes.
//
// What is wrong: each worker asks by itself whether they are done, while the other one already takes its part
// out of the sum again. One leaves, the other waits at the barrier for ever.
//
// expect kind: deadlock
// expect cause 1: int done = change <= 0;
// expect cause 2: pthread_barrier_wait(&barrier); // all have read it
// expect interference: change += delta;

#include <assert.h>
#include <pthread.h>
#include <stdio.h>

enum { WORKERS = 2, PHASES = 4 };

static pthread_barrier_t barrier;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int change;
static int phases_done[WORKERS];

static int relax(int worker, int phase)
{
    return worker == 0 ? 4 - 2 * phase : -1;
}

static void add_change(int delta)
{
    pthread_mutex_lock(&lock);
    change += delta;
    pthread_mutex_unlock(&lock);
}

static int is_done(void)
{
    pthread_mutex_lock(&lock);
    int done = change <= 0;
    pthread_mutex_unlock(&lock);
    return done;
}

static void *work(void *arg)
{
    int worker = (int)(long)arg;
    for (int phase = 0; phase < PHASES; phase++) {
        add_change(relax(worker, phase));
        pthread_barrier_wait(&barrier);
        if (is_done())
            break;
        add_change(-relax(worker, phase));
        phases_done[worker]++;
        pthread_barrier_wait(&barrier); // all have read it
    }
    return NULL;
}

int main(void)
{
    pthread_t workers[WORKERS];
    pthread_barrier_init(&barrier, NULL, WORKERS);
    for (long i = 0; i < WORKERS; i++)
        pthread_create(&workers[i], NULL, work, (void *)i);
    for (int i = 0; i < WORKERS; i++)
        pthread_join(workers[i], NULL);
    pthread_barrier_destroy(&barrier);
    printf("%d and %d phases\n", phases_done[0], phases_done[1]);
    assert(phases_done[0] == phases_done[1]);
    return 0;
}
