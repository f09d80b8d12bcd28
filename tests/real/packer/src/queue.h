#ifndef QUEUE_H
#define QUEUE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

/* A bounded queue of pointers. It is closed when nothing more will come. */
struct queue {
    pthread_mutex_t lock;
    pthread_cond_t not_empty;
    pthread_cond_t not_full;
    void **items;
    size_t capacity;
    size_t first;
    size_t count;
    bool closed;
};

int queue_init(struct queue *queue, size_t capacity);
void queue_destroy(struct queue *queue);

/* Waits for room. False when the queue was closed; the item is the caller's then. */
bool queue_push(struct queue *queue, void *item);

/* Waits for an item. NULL when the queue is closed and empty. */
void *queue_pop(struct queue *queue);

/* No more items: everybody who waits goes on. */
void queue_close(struct queue *queue);

#endif
