// A lock for readers and writers in one word: a writer that has to wait queues, so that no further reader comes in.
//
// What is wrong: a writer that gives up does not leave the queue. The next reader waits for it for ever.
//
// After a defect of a database's lock (ArangoDB).
//
// expect kind: deadlock
// expect cause: atomic_fetch_add(&word, QUEUED);
// expect interference: unsigned seen = atomic_load(&word);

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>

enum { WRITER = 1, QUEUED = 2, READER = 1 << 8, ATTEMPTS = 3 };

static atomic_uint word;
static int value = 1, skipped, sum;

static bool lock_to_write(void)
{
    unsigned nobody = 0;
    if (atomic_compare_exchange_strong(&word, &nobody, WRITER))
        return true;
    atomic_fetch_add(&word, QUEUED);
    for (int i = 0; i < ATTEMPTS; i++) {
        unsigned queued = QUEUED;
        if (atomic_compare_exchange_strong(&word, &queued, WRITER))
            return true;
        sched_yield();
    }
    return false;
}

static void lock_to_read(void)
{
    for (;;) {
        unsigned seen = atomic_load(&word);
        bool is_free = (seen & (WRITER | QUEUED)) == 0;
        if (is_free && atomic_compare_exchange_strong(&word, &seen, seen + READER))
            return;
        sched_yield();
    }
}

static void *refresh(void *arg)
{
    if (lock_to_write()) {
        value++;
        atomic_fetch_sub(&word, WRITER);
    } else {
        skipped++;
    }
    return arg;
}

static void *query(void *arg)
{
    for (int i = 0; i < 2; i++) {
        lock_to_read();
        sum += value;
        atomic_fetch_sub(&word, READER);
    }
    return arg;
}

int main(void)
{
    pthread_t writer, reader;
    pthread_create(&writer, NULL, refresh, NULL);
    pthread_create(&reader, NULL, query, NULL);
    pthread_join(writer, NULL);
    pthread_join(reader, NULL);
    printf("%d, %d skipped\n", sum, skipped);
    return 0;
}
