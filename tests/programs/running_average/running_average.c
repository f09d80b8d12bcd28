// A sensor feeds a running average while a display shows it.
//
// What is wrong: `sum` and `count` belong together, but feed() locks once for each. A display that
// comes in between divides the new sum by the old count.
//
// expect kind: multi-variable-atomicity-violation
// expect cause 1: average.sum += value;
// expect cause 2: average.count++;
// expect interference: long sum = average.sum;
// expect interference: long count = average.count;

#include <assert.h>
#include <pthread.h>
#include <stdio.h>

enum { READINGS = 2 };

struct average {
    pthread_mutex_t lock;
    long sum;
    long count;
};

static struct average average = {.lock = PTHREAD_MUTEX_INITIALIZER, .sum = 20, .count = 1};

static void feed(long value)
{
    pthread_mutex_lock(&average.lock);
    average.sum += value;
    pthread_mutex_unlock(&average.lock);

    pthread_mutex_lock(&average.lock);
    average.count++;
    pthread_mutex_unlock(&average.lock);
}

static long current(void)
{
    pthread_mutex_lock(&average.lock);
    long sum = average.sum;
    long count = average.count;
    pthread_mutex_unlock(&average.lock);
    return sum / count;
}

static void *sensor(void *arg)
{
    (void)arg;
    for (int i = 0; i < READINGS; i++)
        feed(20);
    return NULL;
}

static void *display(void *arg)
{
    (void)arg;
    long shown = current();
    printf("%ld degrees\n", shown);
    assert(shown == 20);
    return NULL;
}

int main(void)
{
    pthread_t threads[2];

    pthread_create(&threads[0], NULL, sensor, NULL);
    pthread_create(&threads[1], NULL, display, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
