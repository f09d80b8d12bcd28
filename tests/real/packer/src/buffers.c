#include "buffers.h"

#include <assert.h>
#include <stdlib.h>

int pool_init(struct buffer_pool *pool, size_t capacity, int limit)
{
    pool->free = NULL;
    pool->capacity = capacity;
    pool->made = 0;
    pool->limit = limit;
    if (pthread_mutex_init(&pool->lock, NULL) != 0)
        return -1;
    if (pthread_cond_init(&pool->returned, NULL) != 0) {
        pthread_mutex_destroy(&pool->lock);
        return -1;
    }
    return 0;
}

void pool_destroy(struct buffer_pool *pool)
{
    while (pool->free != NULL) {
        struct buffer *next = pool->free->next;
        free(pool->free);
        pool->free = next;
        pool->made--;
    }
    assert(pool->made == 0);
    pthread_cond_destroy(&pool->returned);
    pthread_mutex_destroy(&pool->lock);
}

static struct buffer *make(struct buffer_pool *pool)
{
    struct buffer *buffer = malloc(sizeof *buffer + pool->capacity);
    if (buffer != NULL) {
        buffer->capacity = pool->capacity;
        pool->made++;
    }
    return buffer;
}

struct buffer *pool_get(struct buffer_pool *pool)
{
    struct buffer *buffer;

    pthread_mutex_lock(&pool->lock);
    while (pool->free == NULL && pool->made == pool->limit)
        pthread_cond_wait(&pool->returned, &pool->lock);
    buffer = pool->free;
    if (buffer != NULL)
        pool->free = buffer->next;
    else
        buffer = make(pool);
    pthread_mutex_unlock(&pool->lock);

    if (buffer != NULL) {
        buffer->next = NULL;
        buffer->size = 0;
    }
    return buffer;
}

void pool_put(struct buffer_pool *pool, struct buffer *buffer)
{
    pthread_mutex_lock(&pool->lock);
    buffer->next = pool->free;
    pool->free = buffer;
    pthread_cond_signal(&pool->returned);
    pthread_mutex_unlock(&pool->lock);
}

int pool_in_use(struct buffer_pool *pool)
{
    int used;

    pthread_mutex_lock(&pool->lock);
    used = pool->made;
    for (struct buffer *buffer = pool->free; buffer != NULL; buffer = buffer->next)
        used--;
    pthread_mutex_unlock(&pool->lock);
    return used;
}
