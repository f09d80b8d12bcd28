// A transform in two halves that takes the time: the main thread reports how long it took.
//
// What is wrong: main() waits for the counter of finished workers, which the slower worker raises
// before it has noted when it ended.
//
// After a bug of FFT in a suite of parallel programs.
//
// expect kind: order-violation
// expect cause: ended = started + 100 + worker;
// expect interference: long elapsed = ended - started;
// expect also: int last = ++finished == WORKERS;

#include <assert.h>
#include <pthread.h>
#include <stdio.h>

enum { WORKERS = 2, POINTS = 4 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t finished_one = PTHREAD_COND_INITIALIZER;
static double points[WORKERS][POINTS];
static int finished;
static long started;
static long ended;

static void transform(double *half)
{
    for (int i = 0; i < POINTS; i++)
        half[i] = half[i] * 0.5 + 1;
}

static void *run(void *arg)
{
    int worker = (int)(long)arg;

    transform(points[worker]);
    pthread_mutex_lock(&lock);
    int last = ++finished == WORKERS;
    pthread_cond_signal(&finished_one);
    pthread_mutex_unlock(&lock);
    if (last)
        ended = started + 100 + worker;
    return NULL;
}

int main(void)
{
    pthread_t workers[WORKERS];

    started = 1000;
    for (long i = 0; i < WORKERS; i++)
        pthread_create(&workers[i], NULL, run, (void *)i);
    pthread_mutex_lock(&lock);
    while (finished < WORKERS)
        pthread_cond_wait(&finished_one, &lock);
    pthread_mutex_unlock(&lock);

    long elapsed = ended - started;
    printf("%ld ticks\n", elapsed);
    assert(elapsed >= 100);
    for (int i = 0; i < WORKERS; i++)
        pthread_join(workers[i], NULL);
    return 0;
}
