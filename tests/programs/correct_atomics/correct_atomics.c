// A stack without locks that threads push to, and a flag that says when all have.
//
// Nothing is wrong: the head moves by compare-and-exchange, the last thread publishes with release,
// and the reader waits with acquire.
//
// expect no failure

#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum { WRITERS = 2, NODES = 2 };

struct node {
    int value;
    struct node *next;
};

static struct node nodes[WRITERS][NODES];
static _Atomic(struct node *) head;
static atomic_int finished;
static atomic_bool complete;

static void push(struct node *node)
{
    node->next = atomic_load_explicit(&head, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&head, &node->next, node, memory_order_release,
                                                  memory_order_relaxed))
        ;
}

static void *write_values(void *arg)
{
    struct node *own = arg;
    for (int i = 0; i < NODES; i++) {
        own[i].value = i + 1;
        push(&own[i]);
    }
    if (atomic_fetch_add(&finished, 1) == WRITERS - 1)
        atomic_store_explicit(&complete, true, memory_order_release);
    return NULL;
}

static int sum_when_complete(void)
{
    while (!atomic_load_explicit(&complete, memory_order_acquire))
        sched_yield();
    int sum = 0;
    for (struct node *node = atomic_load(&head); node != NULL; node = node->next)
        sum += node->value;
    return sum;
}

int main(void)
{
    pthread_t writers[WRITERS];

    for (int i = 0; i < WRITERS; i++)
        pthread_create(&writers[i], NULL, write_values, nodes[i]);
    int sum = sum_when_complete();
    for (int i = 0; i < WRITERS; i++)
        pthread_join(writers[i], NULL);

    printf("sum %d\n", sum);
    assert(sum == 6);
    return 0;
}
