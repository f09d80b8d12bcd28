// Statistics of a network card, which are given up when the card is shut down.
//
// What is wrong: a reader looks whether there are statistics and uses them afterwards, without the lock
// under which they are given up.
//
// After a bug of the driver of the Tigon3 card in Linux (tg3).
//
// expect kind: atomicity-violation
// expect cause: if (card.stats)
// expect cause: struct stats *stats = card.stats;
// expect interference: card.stats = NULL;

#include <assert.h>
#include <pthread.h>
#include <stddef.h>

struct stats {
    long packets;
    long errors;
};

static struct stats stats = {10, 1};
static struct {
    pthread_mutex_t lock;
    struct stats *stats;
    long shown;
} card = {.lock = PTHREAD_MUTEX_INITIALIZER, .stats = &stats};

static void show(void)
{
    struct stats *stats = card.stats;
    assert(stats != NULL);
    card.shown = stats->packets - stats->errors;
}

static void *read_stats(void *arg)
{
    if (card.stats)
        show();
    return arg;
}

static void *shut_down(void *arg)
{
    pthread_mutex_lock(&card.lock);
    card.stats = NULL;
    pthread_mutex_unlock(&card.lock);
    return arg;
}

int main(void)
{
    pthread_t threads[2];

    pthread_create(&threads[0], NULL, read_stats, NULL);
    pthread_create(&threads[1], NULL, shut_down, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
