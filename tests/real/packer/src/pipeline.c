/* A reader (the calling thread) cuts the input into blocks, workers convert them in any order, a
 * writer puts them back in order. Both directions use the same pipeline.
 *
 * With SEEDED_BUG the workers add to the totals without the lock:
 */
// expect kind: atomicity-violation
// expect cause 1: pipeline->totals.blocks++;
// expect cause 1: pipeline->totals.bytes_in += job->in->size;
// expect cause 1: pipeline->totals.bytes_out += job->out->size;
// expect interference: pipeline->totals.blocks++;
// expect interference: pipeline->totals.bytes_in += job->in->size;
// expect interference: pipeline->totals.bytes_out += job->out->size;
#include "config.h"

#include "buffers.h"
#include "format.h"
#include "pipeline.h"
#include "queue.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A block on its way. */
struct job {
    struct job *next;       /* in the writer's list of those that came too early */
    uint64_t number;
    struct block_header header; /* when unpacking */
    struct buffer *in;
    struct buffer *out;
};

struct pipeline {
    const struct options *options;
    int (*convert)(struct pipeline *pipeline, struct job *job, uint8_t *scratch);
    struct buffer_pool inputs;
    struct buffer_pool outputs;
    struct queue todo;
    struct queue done;
    pthread_mutex_t totals_lock;
    struct totals totals;
    pthread_mutex_t error_lock;
    const char *error;      /* the first one, if any */
};

static void fail(struct pipeline *pipeline, const char *error)
{
    pthread_mutex_lock(&pipeline->error_lock);
    if (pipeline->error == NULL)
        pipeline->error = error;
    pthread_mutex_unlock(&pipeline->error_lock);
}

static bool has_failed(struct pipeline *pipeline)
{
    bool failed;

    pthread_mutex_lock(&pipeline->error_lock);
    failed = pipeline->error != NULL;
    pthread_mutex_unlock(&pipeline->error_lock);
    return failed;
}

/* Reads until the buffer is full or the input ends. Returns the bytes read, or -1. */
static ssize_t read_fully(int descriptor, uint8_t *data, size_t size)
{
    size_t filled = 0;

    while (filled < size) {
        ssize_t got = read(descriptor, data + filled, size - filled);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -1;
        if (got == 0)
            break;
        filled += (size_t)got;
    }
    return (ssize_t)filled;
}

static int write_fully(int descriptor, const uint8_t *data, size_t size)
{
    while (size > 0) {
        ssize_t written = write(descriptor, data, size);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return -1;
        data += written;
        size -= (size_t)written;
    }
    return 0;
}

static int convert_pack(struct pipeline *pipeline, struct job *job, uint8_t *scratch)
{
    (void)pipeline;
    job->out->size = block_pack(job->in->data, job->in->size, scratch, job->out->data);
    return 0;
}

static int convert_unpack(struct pipeline *pipeline, struct job *job, uint8_t *scratch)
{
    if (block_unpack(&job->header, job->in->data, scratch, job->out->data) != 0) {
        fail(pipeline, "a block is damaged");
        return -1;
    }
    job->out->size = job->header.raw_size;
    return 0;
}

static void add_to_totals(struct pipeline *pipeline, const struct job *job)
{
#ifndef SEEDED_BUG
    pthread_mutex_lock(&pipeline->totals_lock);
#endif
    pipeline->totals.blocks++;
    pipeline->totals.bytes_in += job->in->size;
    pipeline->totals.bytes_out += job->out->size;
#ifndef SEEDED_BUG
    pthread_mutex_unlock(&pipeline->totals_lock);
#endif
}

static void discard(struct pipeline *pipeline, struct job *job)
{
    if (job->in != NULL)
        pool_put(&pipeline->inputs, job->in);
    if (job->out != NULL)
        pool_put(&pipeline->outputs, job->out);
    free(job);
}

static void *work(void *argument)
{
    struct pipeline *pipeline = argument;
    uint8_t *scratch = malloc(pipeline->options->block_size);
    struct job *job;

    if (scratch == NULL)
        fail(pipeline, "out of memory");
    while ((job = queue_pop(&pipeline->todo)) != NULL) {
        if (scratch == NULL || pipeline->convert(pipeline, job, scratch) != 0) {
            job->out->size = 0;
        } else {
            add_to_totals(pipeline, job);
        }
        pool_put(&pipeline->inputs, job->in);
        job->in = NULL;
        queue_push(&pipeline->done, job);
    }
    free(scratch);
    return NULL;
}

static void write_job(struct pipeline *pipeline, struct job *job)
{
    const struct buffer *out = job->out;

    if (!has_failed(pipeline) && write_fully(pipeline->options->out, out->data, out->size) != 0)
        fail(pipeline, "cannot write");
    discard(pipeline, job);
}

static void keep_for_later(struct job **waiting, struct job *job)
{
    while (*waiting != NULL && (*waiting)->number < job->number)
        waiting = &(*waiting)->next;
    job->next = *waiting;
    *waiting = job;
}

static void *write_in_order(void *argument)
{
    struct pipeline *pipeline = argument;
    struct job *waiting = NULL, *job;
    uint64_t next = 0;

    while ((job = queue_pop(&pipeline->done)) != NULL) {
        keep_for_later(&waiting, job);
        while (waiting != NULL && waiting->number == next) {
            job = waiting;
            waiting = job->next;
            write_job(pipeline, job);
            next++;
        }
    }
    assert(waiting == NULL);
    return NULL;
}

/* A job with its two buffers; waits until there are some. */
static struct job *new_job(struct pipeline *pipeline, uint64_t number)
{
    struct job *job = calloc(1, sizeof *job);

    if (job == NULL)
        return NULL;
    job->number = number;
    job->out = pool_get(&pipeline->outputs);
    job->in = pool_get(&pipeline->inputs);
    if (job->in == NULL || job->out == NULL) {
        discard(pipeline, job);
        return NULL;
    }
    return job;
}

/* Fills a job from the input. Returns 1, 0 at the end, -1 when it cannot. */
static int read_raw(struct pipeline *pipeline, struct job *job)
{
    ssize_t got = read_fully(pipeline->options->in, job->in->data, pipeline->options->block_size);

    if (got < 0) {
        fail(pipeline, "cannot read");
        return -1;
    }
    job->in->size = (size_t)got;
    return got > 0;
}

static int read_packed(struct pipeline *pipeline, struct job *job)
{
    uint8_t bytes[BLOCK_HEADER_SIZE];
    int in = pipeline->options->in;
    size_t size;

    if (read_fully(in, bytes, sizeof bytes) != sizeof bytes ||
        header_read(&job->header, bytes, pipeline->options->block_size) != 0) {
        fail(pipeline, "the input is not a packed file, is cut short, or has larger blocks");
        return -1;
    }
    size = job->header.packed_size;
    if (read_fully(in, job->in->data, size) != (ssize_t)size) {
        fail(pipeline, "the input is cut short");
        return -1;
    }
    job->in->size = size;
    return job->header.raw_size > 0;
}

/* Reads blocks until the end. Returns how many. */
static uint64_t read_blocks(struct pipeline *pipeline,
                            int (*fill)(struct pipeline *, struct job *))
{
    uint64_t number = 0;

    while (!has_failed(pipeline)) {
        struct job *job = new_job(pipeline, number);
        if (job == NULL) {
            fail(pipeline, "out of memory");
            break;
        }
        if (fill(pipeline, job) <= 0) {
            discard(pipeline, job);
            break;
        }
        queue_push(&pipeline->todo, job);
        number++;
    }
    queue_close(&pipeline->todo);
    return number;
}

static int set_up(struct pipeline *pipeline, const struct options *options)
{
    size_t capacity = options->block_size + BLOCK_HEADER_SIZE;
    int in_flight = options->workers + 2;

    memset(pipeline, 0, sizeof *pipeline);
    pipeline->options = options;
    pthread_mutex_init(&pipeline->totals_lock, NULL);
    pthread_mutex_init(&pipeline->error_lock, NULL);
    if (pool_init(&pipeline->inputs, capacity, in_flight) != 0 ||
        pool_init(&pipeline->outputs, capacity, 2 * in_flight) != 0 ||
        queue_init(&pipeline->todo, (size_t)options->workers) != 0 ||
        queue_init(&pipeline->done, (size_t)options->workers) != 0)
        return -1;
    return 0;
}

static void tear_down(struct pipeline *pipeline)
{
    assert(pool_in_use(&pipeline->inputs) == 0);
    assert(pool_in_use(&pipeline->outputs) == 0);
    queue_destroy(&pipeline->done);
    queue_destroy(&pipeline->todo);
    pool_destroy(&pipeline->outputs);
    pool_destroy(&pipeline->inputs);
    pthread_mutex_destroy(&pipeline->error_lock);
    pthread_mutex_destroy(&pipeline->totals_lock);
}

static int run(struct pipeline *pipeline, int (*fill)(struct pipeline *, struct job *))
{
    int workers = pipeline->options->workers;
    pthread_t *threads = calloc((size_t)workers, sizeof *threads);
    pthread_t writer;
    uint64_t blocks;

    if (threads == NULL || pthread_create(&writer, NULL, write_in_order, pipeline) != 0) {
        fprintf(stderr, "packer: cannot start threads\n");
        exit(EXIT_FAILURE);
    }
    for (int i = 0; i < workers; i++)
        if (pthread_create(&threads[i], NULL, work, pipeline) != 0) {
            fprintf(stderr, "packer: cannot start threads\n");
            exit(EXIT_FAILURE);
        }
    blocks = read_blocks(pipeline, fill);
    for (int i = 0; i < workers; i++)
        pthread_join(threads[i], NULL);
    queue_close(&pipeline->done);
    pthread_join(writer, NULL);
    free(threads);
    if (pipeline->error != NULL) {
        fprintf(stderr, "packer: %s\n", pipeline->error);
        return -1;
    }
    assert(pipeline->totals.blocks == blocks);
    return 0;
}

int pack(const struct options *options, struct totals *totals)
{
    static const struct block_header end;
    uint8_t last[BLOCK_HEADER_SIZE];
    struct pipeline pipeline;
    int result;

    if (set_up(&pipeline, options) != 0)
        return -1;
    pipeline.convert = convert_pack;
    result = write_fully(options->out, (const uint8_t *)FORMAT_MAGIC, FORMAT_MAGIC_SIZE);
    if (result == 0)
        result = run(&pipeline, read_raw);
    header_write(&end, last);
    if (result == 0)
        result = write_fully(options->out, last, sizeof last);
    *totals = pipeline.totals;
    tear_down(&pipeline);
    return result;
}

int unpack(const struct options *options, struct totals *totals)
{
    uint8_t magic[FORMAT_MAGIC_SIZE];
    struct pipeline pipeline;
    int result;

    if (read_fully(options->in, magic, sizeof magic) != sizeof magic ||
        memcmp(magic, FORMAT_MAGIC, sizeof magic) != 0) {
        fprintf(stderr, "packer: the input is not a packed file\n");
        return -1;
    }
    if (set_up(&pipeline, options) != 0)
        return -1;
    pipeline.convert = convert_unpack;
    result = run(&pipeline, read_packed);
    *totals = pipeline.totals;
    tear_down(&pipeline);
    return result;
}
