// A queue without locks: who wants to put something in looks for the last node and hangs the new one on it.
//
// What is wrong: looking that the last node has no successor and giving it one are two steps, not a
// compare-and-swap. Of two nodes that are put in at the same time one is lost.
//
// After Michael and Scott's queue with a mistake, a kernel of the literature ("ms_queue").
//
// expect kind: atomicity-violation
// expect cause: if (atomic_load(&nodes[tail].next) == NONE) {
// expect cause: atomic_store(&nodes[tail].next, node);
// expect interference: atomic_store(&nodes[tail].next, node);

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

enum { NONE = -1, NODES = 3 };

static struct {
    int value;
    atomic_int next;
} nodes[NODES] = {{0, NONE}, {0, NONE}, {0, NONE}};
static atomic_int last_node;

static void enqueue(int node, int value)
{
    nodes[node].value = value;
    for (;;) {
        int tail = atomic_load(&last_node);
        if (atomic_load(&nodes[tail].next) == NONE) {
            atomic_store(&nodes[tail].next, node);
            atomic_compare_exchange_strong(&last_node, &tail, node);
            return;
        }
        atomic_compare_exchange_strong(&last_node, &tail, atomic_load(&nodes[tail].next));
    }
}

static int length(void)
{
    int count = 0;
    for (int node = atomic_load(&nodes[0].next); node != NONE; node = atomic_load(&nodes[node].next))
        count++;
    return count;
}

static void *put_first(void *arg)
{
    enqueue(1, 10);
    return arg;
}

static void *put_second(void *arg)
{
    enqueue(2, 20);
    return arg;
}

int main(void)
{
    pthread_t threads[2];

    pthread_create(&threads[0], NULL, put_first, NULL);
    pthread_create(&threads[1], NULL, put_second, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    assert(length() == 2);
    return 0;
}
