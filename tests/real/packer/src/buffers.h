#ifndef BUFFERS_H
#define BUFFERS_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

/* A piece of memory that the stages pass on to each other. */
struct buffer {
    struct buffer *next;
    size_t size;     /* bytes in use */
    size_t capacity;
    uint8_t data[];
};

/* Buffers that are used again instead of being freed. At most `limit` exist at a time, so that a
 * fast reader cannot fill the memory. */
struct buffer_pool {
    pthread_mutex_t lock;
    pthread_cond_t returned;
    struct buffer *free;
    size_t capacity;
    int made;
    int limit;
};

int pool_init(struct buffer_pool *pool, size_t capacity, int limit);
void pool_destroy(struct buffer_pool *pool);

/* A buffer; waits for one when `limit` are in use. NULL without memory. */
struct buffer *pool_get(struct buffer_pool *pool);

/* Gives a buffer back. */
void pool_put(struct buffer_pool *pool, struct buffer *buffer);

/* Buffers that are in use now. */
int pool_in_use(struct buffer_pool *pool);

#endif
