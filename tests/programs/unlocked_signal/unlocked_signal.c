// A download shows its progress until the last part has arrived.
//
// What is wrong: part_arrived() counts without the lock, since the counter is atomic. The last part can
// arrive, and be signalled, between wait_for_all()'s look at the counter and its wait.
//
// expect kind: lost-wakeup
// expect cause: pthread_cond_wait(&download.complete, &download.lock);
// expect interference: pthread_cond_signal(&download.complete);
// expect also: while (atomic_load(&download.arrived) < PARTS)
// expect also: int arrived = atomic_fetch_add(&download.arrived, 1) + 1;

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

enum { PARTS = 3 };

struct download {
    pthread_mutex_t lock;
    pthread_cond_t complete;
    atomic_int arrived;
    int size[PARTS];
};

static struct download download = {
    .lock = PTHREAD_MUTEX_INITIALIZER,
    .complete = PTHREAD_COND_INITIALIZER,
};

static void part_arrived(int part)
{
    download.size[part] = 512 + part;
    int arrived = atomic_fetch_add(&download.arrived, 1) + 1;
    if (arrived == PARTS)
        pthread_cond_signal(&download.complete);
}

static void wait_for_all(void)
{
    pthread_mutex_lock(&download.lock);
    while (atomic_load(&download.arrived) < PARTS)
        pthread_cond_wait(&download.complete, &download.lock);
    pthread_mutex_unlock(&download.lock);
}

static void *fetch(void *arg)
{
    int *part = arg;
    part_arrived(*part);
    return NULL;
}

int main(void)
{
    pthread_t fetchers[PARTS];
    int parts[PARTS], total = 0;

    for (int i = 0; i < PARTS; i++) {
        parts[i] = i;
        pthread_create(&fetchers[i], NULL, fetch, &parts[i]);
    }
    wait_for_all();
    for (int i = 0; i < PARTS; i++)
        total += download.size[i];
    for (int i = 0; i < PARTS; i++)
        pthread_join(fetchers[i], NULL);

    printf("%d bytes\n", total);
    assert(total == 3 * 512 + 3);
    return 0;
}
