// Readers of a configuration take no lock: each says in which epoch it began, and an update waits until the
// readers of the last epoch are gone before it frees the old configuration.
//
// What is wrong: an update moves to the next epoch once. A reader that was interrupted between looking at
// the epoch and entering it is counted for an epoch that is over, and the second update after that does not
// wait for it. It takes three preemptions.
//
// expect kind: multi-variable-atomicity-violation
// expect cause 1: unsigned mine = atomic_load(&epoch) % 2;
// expect cause 2: atomic_fetch_add(&readers[mine], 1);
// expect interference: unsigned before = atomic_fetch_add(&epoch, 1) % 2;
// expect interference: while (atomic_load(&readers[before]) > 0)

#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { UPDATES = 4, REQUESTS = 4 };

struct config {
    int limit, burst;
};

static _Atomic(struct config *) current;
static atomic_uint epoch;
static atomic_int readers[2];

static struct config *config_new(int limit)
{
    struct config *config = malloc(sizeof *config);
    if (config == NULL)
        abort();
    config->limit = limit;
    config->burst = 2 * limit;
    return config;
}

static unsigned enter(void)
{
    unsigned mine = atomic_load(&epoch) % 2;
    atomic_fetch_add(&readers[mine], 1);
    return mine;
}

static void leave(unsigned mine)
{
    atomic_fetch_sub(&readers[mine], 1);
}

static void wait_for_readers(void)
{
    unsigned before = atomic_fetch_add(&epoch, 1) % 2;
    while (atomic_load(&readers[before]) > 0)
        sched_yield();
}

static void update(struct config *config)
{
    struct config *old = atomic_exchange(&current, config);
    wait_for_readers();
    free(old);
}

static void answer(void)
{
    unsigned mine = enter();
    struct config *config = atomic_load(&current);
    int limit = config->limit;
    assert(config->burst == 2 * limit);
    leave(mine);
}

static void *serve(void *arg)
{
    for (int i = 0; i < REQUESTS; i++)
        answer();
    return arg;
}

static void *reconfigure(void *arg)
{
    struct config **configs = arg;
    for (int i = 0; i < UPDATES; i++)
        update(configs[i]);
    return NULL;
}

int main(void)
{
    pthread_t server, operator;
    struct config *configs[UPDATES];

    for (int i = 0; i < UPDATES; i++)
        configs[i] = config_new(10 * i);
    atomic_store(&current, config_new(5));
    pthread_create(&server, NULL, serve, NULL);
    pthread_create(&operator, NULL, reconfigure, configs);
    pthread_join(server, NULL);
    pthread_join(operator, NULL);
    free(atomic_load(&current));
    return 0;
}
