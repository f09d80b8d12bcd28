// Benchmark: a producer and a consumer share a bounded queue.

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

enum { SLOTS = 64 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t not_empty = PTHREAD_COND_INITIALIZER, not_full = PTHREAD_COND_INITIALIZER;
static long items[SLOTS];
static int first, filled;
static long rounds = 60000;

static void put(long item)
{
    pthread_mutex_lock(&lock);
    while (filled == SLOTS)
        pthread_cond_wait(&not_full, &lock);
    items[(first + filled++) % SLOTS] = item;
    pthread_cond_signal(&not_empty);
    pthread_mutex_unlock(&lock);
}

static long get(void)
{
    pthread_mutex_lock(&lock);
    while (filled == 0)
        pthread_cond_wait(&not_empty, &lock);
    long item = items[first];
    first = (first + 1) % SLOTS;
    filled--;
    pthread_cond_signal(&not_full);
    pthread_mutex_unlock(&lock);
    return item;
}

static void *produce(void *arg)
{
    for (long i = 1; i <= rounds; i++)
        put(i);
    return arg;
}

int main(int argc, char **argv)
{
    pthread_t producer;
    long sum = 0;

    if (argc > 1)
        rounds = atol(argv[1]);
    pthread_create(&producer, NULL, produce, NULL);
    for (long i = 0; i < rounds; i++)
        sum += get();
    pthread_join(producer, NULL);
    assert(sum == rounds * (rounds + 1) / 2);
    return 0;
}
