// A bounded queue with condition variables, each wait in a loop, everything under one lock.
//
// Nothing is wrong.
//
// expect no failure

#include <assert.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>

enum { SLOTS = 2, ITEMS = 5, CONSUMERS = 2 };

struct queue {
    pthread_mutex_t lock;
    pthread_cond_t not_empty, not_full;
    int items[SLOTS];
    int first, filled;
    bool closed;
};

static struct queue queue = {
    .lock = PTHREAD_MUTEX_INITIALIZER,
    .not_empty = PTHREAD_COND_INITIALIZER,
    .not_full = PTHREAD_COND_INITIALIZER,
};

static void put(struct queue *queue, int item)
{
    pthread_mutex_lock(&queue->lock);
    while (queue->filled == SLOTS)
        pthread_cond_wait(&queue->not_full, &queue->lock);
    queue->items[(queue->first + queue->filled++) % SLOTS] = item;
    pthread_cond_signal(&queue->not_empty);
    pthread_mutex_unlock(&queue->lock);
}

static bool get(struct queue *queue, int *item)
{
    pthread_mutex_lock(&queue->lock);
    while (queue->filled == 0 && !queue->closed)
        pthread_cond_wait(&queue->not_empty, &queue->lock);
    bool got = queue->filled > 0;
    if (got) {
        *item = queue->items[queue->first];
        queue->first = (queue->first + 1) % SLOTS;
        queue->filled--;
        pthread_cond_signal(&queue->not_full);
    }
    pthread_mutex_unlock(&queue->lock);
    return got;
}

static void close_queue(struct queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    queue->closed = true;
    pthread_cond_broadcast(&queue->not_empty);
    pthread_mutex_unlock(&queue->lock);
}

static void *consume(void *arg)
{
    int *sum = arg, item;
    while (get(&queue, &item))
        *sum += item;
    return NULL;
}

int main(void)
{
    pthread_t consumers[CONSUMERS];
    int sums[CONSUMERS] = {0}, total = 0;

    for (int i = 0; i < CONSUMERS; i++)
        pthread_create(&consumers[i], NULL, consume, &sums[i]);
    for (int i = 1; i <= ITEMS; i++)
        put(&queue, i);
    close_queue(&queue);
    for (int i = 0; i < CONSUMERS; i++) {
        pthread_join(consumers[i], NULL);
        total += sums[i];
    }

    printf("sum %d\n", total);
    assert(total == ITEMS * (ITEMS + 1) / 2);
    return 0;
}
