// A parallel compressor: main queues the blocks of a file, seven consumers compress them, a writer puts
// them out in order. How many blocks: ./block_compressor [BLOCKS].
//
// What is wrong: main() waits for the writer, who is done when all blocks are there, and then clears
// `fifo`. Nothing keeps a consumer from looking at the queue once more.
//
// After a bug of pbzip2 0.9.4. A block is compressed by move-to-front and run lengths.
//
// expect kind: order-violation
// expect cause: fifo = NULL;
// expect interference: struct queue *queue = fifo;

#include <assert.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

enum { CONSUMERS = 7, BLOCKS = 2, MOST = 1024, BLOCK = 16 };

struct queue {
    pthread_mutex_t lock;
    pthread_cond_t not_empty;
    int first;
    int count;
    bool all_there;
};

struct packed {
    int length;
    unsigned check;
};

static const char text[] = "she sells sea shells on the sea shore; aaaaaaaa bbbb cccc";
static const char letters[] = " ;abcehlnorst";
static struct queue jobs = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0, false};
static struct queue *fifo = &jobs;
static int blocks = BLOCKS;

static pthread_mutex_t output_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t output_changed = PTHREAD_COND_INITIALIZER;
static struct packed output[MOST];
static int compressed;

// Moves `letter` to the front of the alphabet and returns where it was.
static int move_to_front(char *alphabet, char letter)
{
    int at = 0;
    while (alphabet[at] != letter)
        at++;
    for (int i = at; i > 0; i--)
        alphabet[i] = alphabet[i - 1];
    alphabet[0] = letter;
    return at;
}

// Compresses a block: ranks by move-to-front, equal ones in a row as one with their number.
static struct packed compress(int block)
{
    char alphabet[sizeof letters - 1];
    struct packed packed = {0, 1};
    int before = -1, run = 0;
    for (size_t i = 0; i < sizeof alphabet; i++)
        alphabet[i] = letters[i];
    for (int i = 0; i < BLOCK; i++) {
        int at = (block * BLOCK + i) % (int)(sizeof text - 1);
        int rank = move_to_front(alphabet, text[at]);
        run = rank == before ? run + 1 : 1;
        if (run == 1)
            packed.length += 2;
        before = rank;
        packed.check = packed.check * 31 + (unsigned)(rank * run);
    }
    return packed;
}

static bool take(int *block)
{
    struct queue *queue = fifo;
    assert(queue != NULL);
    pthread_mutex_lock(&queue->lock);
    while (queue->count == 0 && !queue->all_there)
        pthread_cond_wait(&queue->not_empty, &queue->lock);
    bool found = queue->count > 0;
    if (found) {
        *block = queue->first++;
        queue->count--;
    }
    pthread_mutex_unlock(&queue->lock);
    return found;
}

static void *consume(void *arg)
{
    int block;
    while (take(&block)) {
        struct packed packed = compress(block);
        pthread_mutex_lock(&output_lock);
        output[block] = packed;
        compressed++;
        pthread_cond_signal(&output_changed);
        pthread_mutex_unlock(&output_lock);
    }
    return arg;
}

static void *write_out(void *arg)
{
    int length = 0;
    for (int i = 0; i < blocks; i++) {
        pthread_mutex_lock(&output_lock);
        while (output[i].length == 0)
            pthread_cond_wait(&output_changed, &output_lock);
        length += output[i].length;
        pthread_mutex_unlock(&output_lock);
    }
    printf("%d bytes became %d\n", blocks * BLOCK, length);
    return arg;
}

static void produce(struct queue *queue)
{
    for (int i = 0; i < blocks; i++) {
        pthread_mutex_lock(&queue->lock);
        queue->count++;
        queue->all_there = i + 1 == blocks;
        pthread_cond_broadcast(&queue->not_empty);
        pthread_mutex_unlock(&queue->lock);
    }
}

int main(int argc, char **argv)
{
    pthread_t consumers[CONSUMERS], writer;

    if (argc > 1 && atoi(argv[1]) > 0 && atoi(argv[1]) <= MOST)
        blocks = atoi(argv[1]);
    for (int i = 0; i < CONSUMERS; i++)
        pthread_create(&consumers[i], NULL, consume, NULL);
    pthread_create(&writer, NULL, write_out, NULL);
    produce(fifo);

    pthread_join(writer, NULL);
    fifo = NULL;
    for (int i = 0; i < CONSUMERS; i++)
        pthread_join(consumers[i], NULL);
    assert(compressed == blocks);
    return 0;
}
