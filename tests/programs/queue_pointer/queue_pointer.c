// A block compressor: the main thread queues blocks, a consumer compresses them, a writer puts them
// out in order.
//
// What is wrong: main() waits for the writer, which is done when all blocks are there, and deletes
// the queue. It does not wait for the consumer, which looks at the queue once more to learn that
// there is nothing left to do.
//
// After a bug of pbzip2 0.9.4, a parallel file compressor.
// still wrong: gcc -O2, clang -O2
// expect kind: order-violation
// expect cause: fifo = NULL;
// expect interference: pthread_mutex_lock(&fifo->lock);
// expect interference: while (fifo->queued == 0 && !fifo->finished)
// expect interference: pthread_cond_wait(&fifo->changed, &fifo->lock);
// expect interference: bool found = fifo->queued > 0;
// expect interference: *block = fifo->blocks[--fifo->queued];
// expect interference: pthread_mutex_unlock(&fifo->lock);

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

enum { BLOCKS = 2 };

struct queue {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int blocks[BLOCKS];
    int queued;
    bool finished;
};

static struct queue *fifo;

static pthread_mutex_t output_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t output_ready = PTHREAD_COND_INITIALIZER;
static int output[BLOCKS];
static int compressed;

static struct queue *queue_new(void)
{
    struct queue *queue = calloc(1, sizeof *queue);
    pthread_mutex_init(&queue->lock, NULL);
    pthread_cond_init(&queue->changed, NULL);
    return queue;
}

static void queue_delete(struct queue *queue)
{
    pthread_mutex_destroy(&queue->lock);
    pthread_cond_destroy(&queue->changed);
    free(queue);
}

static void compress(int block)
{
    pthread_mutex_lock(&output_lock);
    output[block] = 100 + block;
    compressed++;
    pthread_cond_signal(&output_ready);
    pthread_mutex_unlock(&output_lock);
}

static bool next_block(int *block)
{
    pthread_mutex_lock(&fifo->lock);
    while (fifo->queued == 0 && !fifo->finished)
        pthread_cond_wait(&fifo->changed, &fifo->lock);
    bool found = fifo->queued > 0;
    if (found)
        *block = fifo->blocks[--fifo->queued];
    pthread_mutex_unlock(&fifo->lock);
    return found;
}

static void *consume(void *arg)
{
    int block;
    while (next_block(&block))
        compress(block);
    return arg;
}

static void *write_out(void *arg)
{
    pthread_mutex_lock(&output_lock);
    while (compressed < BLOCKS)
        pthread_cond_wait(&output_ready, &output_lock);
    for (int i = 0; i < BLOCKS; i++)
        printf("block %d: %d\n", i, output[i]);
    pthread_mutex_unlock(&output_lock);
    return arg;
}

static void produce(struct queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    for (int i = 0; i < BLOCKS; i++)
        queue->blocks[queue->queued++] = i;
    queue->finished = true;
    pthread_cond_broadcast(&queue->changed);
    pthread_mutex_unlock(&queue->lock);
}

int main(void)
{
    pthread_t consumer, writer;

    fifo = queue_new();
    pthread_create(&consumer, NULL, consume, NULL);
    pthread_create(&writer, NULL, write_out, NULL);
    produce(fifo);

    pthread_join(writer, NULL);
    struct queue *old = fifo;
    fifo = NULL;
    queue_delete(old);
    pthread_join(consumer, NULL);
    return 0;
}
