// A sensor delivers readings, a display shows their mean, and a writer saves them in the end.
//
// What is wrong, first: deliver() changes sum and count in two critical sections; the display can come in between.
//
// What is wrong, second: main waits for the sensor and the display but not for the writer before it looks whether
// everything was saved.
//
// -DFIRST_FIXED and -DSECOND_FIXED build it without the one or the other.
//
// expect kind: multi-variable-atomicity-violation
// expect cause 1: hub.sum += reading;
// expect cause 2: hub.count++;
// expect interference: long sum = hub.sum;
// expect interference: long count = hub.count;
// and expect kind: order-violation
// and expect cause: assert(saved == 1);
// and expect interference: saved = 1;

#include <assert.h>
#include <pthread.h>
#include <stddef.h>

enum { READING = 20 };

static struct {
    pthread_mutex_t lock;
    long sum;
    long count;
} hub = {PTHREAD_MUTEX_INITIALIZER, READING, 1};

static int saved;

static void deliver(long reading)
{
    pthread_mutex_lock(&hub.lock);
    hub.sum += reading;
#ifndef FIRST_FIXED
    pthread_mutex_unlock(&hub.lock);

    pthread_mutex_lock(&hub.lock);
#endif
    hub.count++;
    pthread_mutex_unlock(&hub.lock);
}

static void *measure(void *arg)
{
    (void)arg;
    deliver(READING);
    return NULL;
}

static void *display(void *arg)
{
    (void)arg;
    pthread_mutex_lock(&hub.lock);
    long sum = hub.sum;
    long count = hub.count;
    pthread_mutex_unlock(&hub.lock);
    assert(sum == READING * count);
    return NULL;
}

static void *save(void *arg)
{
    (void)arg;
    saved = 1;
    return NULL;
}

int main(void)
{
    pthread_t sensor, screen, writer;

    pthread_create(&sensor, NULL, measure, NULL);
    pthread_create(&screen, NULL, display, NULL);
    pthread_create(&writer, NULL, save, NULL);
    pthread_join(sensor, NULL);
    pthread_join(screen, NULL);
#ifdef SECOND_FIXED
    pthread_join(writer, NULL);
#endif
    assert(saved == 1);
#ifndef SECOND_FIXED
    pthread_join(writer, NULL);
#endif
    return 0;
}
