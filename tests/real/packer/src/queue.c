#include "queue.h"

#include <stdlib.h>

int queue_init(struct queue *queue, size_t capacity)
{
    queue->items = calloc(capacity, sizeof *queue->items);
    if (queue->items == NULL)
        return -1;
    queue->capacity = capacity;
    queue->first = 0;
    queue->count = 0;
    queue->closed = false;
    pthread_mutex_init(&queue->lock, NULL);
    pthread_cond_init(&queue->not_empty, NULL);
    pthread_cond_init(&queue->not_full, NULL);
    return 0;
}

void queue_destroy(struct queue *queue)
{
    pthread_cond_destroy(&queue->not_full);
    pthread_cond_destroy(&queue->not_empty);
    pthread_mutex_destroy(&queue->lock);
    free(queue->items);
}

bool queue_push(struct queue *queue, void *item)
{
    bool pushed = false;

    pthread_mutex_lock(&queue->lock);
    while (queue->count == queue->capacity && !queue->closed)
        pthread_cond_wait(&queue->not_full, &queue->lock);
    if (!queue->closed) {
        queue->items[(queue->first + queue->count) % queue->capacity] = item;
        queue->count++;
        pushed = true;
        pthread_cond_signal(&queue->not_empty);
    }
    pthread_mutex_unlock(&queue->lock);
    return pushed;
}

void *queue_pop(struct queue *queue)
{
    void *item = NULL;

    pthread_mutex_lock(&queue->lock);
    while (queue->count == 0 && !queue->closed)
        pthread_cond_wait(&queue->not_empty, &queue->lock);
    if (queue->count > 0) {
        item = queue->items[queue->first];
        queue->first = (queue->first + 1) % queue->capacity;
        queue->count--;
        pthread_cond_signal(&queue->not_full);
    }
    pthread_mutex_unlock(&queue->lock);
    return item;
}

void queue_close(struct queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    queue->closed = true;
    pthread_cond_broadcast(&queue->not_empty);
    pthread_cond_broadcast(&queue->not_full);
    pthread_mutex_unlock(&queue->lock);
}
