// A clock that is read far more often than it is set: readers take no lock, and read again when the clock
// was set meanwhile.
//
// Nothing is wrong.
//
// expect no failure

#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>

enum { UPDATES = 2, READS = 2 };

static struct {
    atomic_uint version;
    atomic_int seconds, nanoseconds;
} now;

static void set_clock(int seconds)
{
    atomic_fetch_add(&now.version, 1);
    atomic_store(&now.seconds, seconds);
    atomic_store(&now.nanoseconds, seconds * 10);
    atomic_fetch_add(&now.version, 1);
}

static void read_clock(int *seconds, int *nanoseconds)
{
    unsigned before, after;
    do {
        while ((before = atomic_load(&now.version)) % 2 != 0)
            sched_yield();
        *seconds = atomic_load(&now.seconds);
        *nanoseconds = atomic_load(&now.nanoseconds);
        after = atomic_load(&now.version);
    } while (before != after);
}

static void *tick(void *arg)
{
    for (int i = 1; i <= UPDATES; i++)
        set_clock(i);
    return arg;
}

static void *watch(void *arg)
{
    int seconds, nanoseconds, last = 0;
    for (int i = 0; i < READS; i++) {
        read_clock(&seconds, &nanoseconds);
        assert(nanoseconds == seconds * 10);
        assert(seconds >= last);
        last = seconds;
    }
    return arg;
}

int main(void)
{
    pthread_t ticker, watcher;

    pthread_create(&ticker, NULL, tick, NULL);
    pthread_create(&watcher, NULL, watch, NULL);
    pthread_join(ticker, NULL);
    pthread_join(watcher, NULL);
    printf("%d seconds\n", atomic_load(&now.seconds));
    return 0;
}
