// A file scanner: one thread queues the names of files, two others take them out and scan them.
//
// What is wrong: queue_get() sees that something is queued, lets go of the lock, and takes the lock
// again to remove it. Both scanners can see the last file, and one of them finds the queue empty.
//
// After pfscan, a parallel file scanner, in the form that research on scheduling made of it.
//
// expect kind: atomicity-violation
// expect cause 1: int found = queue->filled;
// expect cause 2: assert(queue->filled > 0);
// expect cause 2: queue->filled--;
// expect interference: queue->filled--;

#include <assert.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>

enum { SLOTS = 4, FILES = 3, SCANNERS = 2 };

struct queue {
    pthread_mutex_t lock;
    const char *names[SLOTS];
    int first;
    int filled;
};

static struct queue queue = {.lock = PTHREAD_MUTEX_INITIALIZER};
static int scanned[SCANNERS];

static void queue_put(struct queue *queue, const char *name)
{
    pthread_mutex_lock(&queue->lock);
    assert(queue->filled < SLOTS);
    queue->names[(queue->first + queue->filled) % SLOTS] = name;
    queue->filled++;
    pthread_mutex_unlock(&queue->lock);
}

static bool queue_get(struct queue *queue, const char **name)
{
    pthread_mutex_lock(&queue->lock);
    int found = queue->filled;
    pthread_mutex_unlock(&queue->lock);
    if (found == 0)
        return false;

    pthread_mutex_lock(&queue->lock);
    assert(queue->filled > 0);
    queue->filled--;
    *name = queue->names[queue->first];
    queue->first = (queue->first + 1) % SLOTS;
    pthread_mutex_unlock(&queue->lock);
    return true;
}

static void *scan(void *arg)
{
    int *count = arg;
    const char *name;
    while (queue_get(&queue, &name)) {
        if (name[0] != '\0')
            (*count)++;
    }
    return NULL;
}

int main(void)
{
    static const char *const files[FILES] = {"README", "main.c", "Makefile"};
    pthread_t scanners[SCANNERS];

    for (int i = 0; i < FILES; i++)
        queue_put(&queue, files[i]);
    for (int i = 0; i < SCANNERS; i++)
        pthread_create(&scanners[i], NULL, scan, &scanned[i]);
    for (int i = 0; i < SCANNERS; i++)
        pthread_join(scanners[i], NULL);

    printf("%d and %d files scanned\n", scanned[0], scanned[1]);
    assert(scanned[0] + scanned[1] == FILES);
    return 0;
}
