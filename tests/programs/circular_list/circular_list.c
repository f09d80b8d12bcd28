// Workers take turns with the jobs of a ring: each takes the job at the tail and puts it back at the
// head, so that the jobs keep their order for ever.
//
// What is wrong: taking and putting back lock the ring, but rotate() as a whole does not. When a
// second worker rotates between the two, two jobs come back in the wrong order.
//
// After the "CircularList" example of the literature on atomicity violations.
//
// expect kind: multi-variable-atomicity-violation
// expect cause 1: struct job *job = ring->tail;
// expect cause 1: ring->tail = job->prev;
// expect cause 1: ring->tail->next = NULL;
// expect cause 2: job->next = ring->head;
// expect cause 2: ring->head->prev = job;
// expect cause 2: ring->head = job;
// expect interference: struct job *job = ring->tail;
// expect interference: ring->tail = job->prev;
// expect interference: ring->tail->next = NULL;
// expect interference: job->next = ring->head;
// expect interference: ring->head->prev = job;
// expect interference: ring->head = job;
//
// A longer list makes longer runs: compile with -DJOBS=200.

#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#ifndef JOBS
#define JOBS 6
#endif

struct job {
    int number;
    struct job *next, *prev;
};

struct ring {
    pthread_mutex_t lock;
    struct job *head, *tail;
};

static struct job *get_from_tail(struct ring *ring)
{
    pthread_mutex_lock(&ring->lock);
    struct job *job = ring->tail;
    ring->tail = job->prev;
    ring->tail->next = NULL;
    pthread_mutex_unlock(&ring->lock);
    return job;
}

static void add_at_head(struct ring *ring, struct job *job)
{
    pthread_mutex_lock(&ring->lock);
    job->prev = NULL;
    job->next = ring->head;
    ring->head->prev = job;
    ring->head = job;
    pthread_mutex_unlock(&ring->lock);
}

static void *rotate(void *arg)
{
    struct ring *ring = arg;
    struct job *job = get_from_tail(ring);
    add_at_head(ring, job);
    return NULL;
}

static void fill(struct ring *ring)
{
    for (int i = 0; i < JOBS; i++) {
        struct job *added = calloc(1, sizeof *added);
        added->number = i;
        added->prev = ring->tail;
        if (ring->tail)
            ring->tail->next = added;
        else
            ring->head = added;
        ring->tail = added;
    }
}

static int out_of_order(const struct ring *ring)
{
    int wrong = 0;
    for (const struct job *job = ring->head; job->next; job = job->next)
        if (job->next->number != (job->number + 1) % JOBS)
            wrong++;
    return wrong;
}

int main(void)
{
    struct ring ring = {.lock = PTHREAD_MUTEX_INITIALIZER};
    pthread_t workers[2];

    fill(&ring);
    for (int i = 0; i < 2; i++)
        pthread_create(&workers[i], NULL, rotate, &ring);
    for (int i = 0; i < 2; i++)
        pthread_join(workers[i], NULL);

    int wrong = out_of_order(&ring);
    printf("job %d is next, %d out of order\n", ring.tail->number, wrong);
    assert(wrong == 0);
    while (ring.head) {
        struct job *job = ring.head;
        ring.head = job->next;
        free(job);
    }
    return 0;
}
