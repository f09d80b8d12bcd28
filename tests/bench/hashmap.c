// Benchmark: two threads fill and read one hash map with a lock for each part of it.

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

enum { PARTS = 64, THREADS = 2 };

struct entry {
    struct entry *next;
    unsigned long key, value;
};

static struct part {
    pthread_mutex_t lock;
    struct entry *first;
} parts[PARTS];
static long keys = 20000;

static unsigned long hash(unsigned long key)
{
    key *= 0x9e3779b97f4a7c15ul;
    return key ^ key >> 29;
}

static struct entry *find(struct part *part, unsigned long key)
{
    struct entry *entry = part->first;
    while (entry && entry->key != key)
        entry = entry->next;
    return entry;
}

static void add(unsigned long key, unsigned long value)
{
    struct part *part = &parts[hash(key) % PARTS];
    pthread_mutex_lock(&part->lock);
    struct entry *entry = find(part, key);
    if (!entry) {
        entry = malloc(sizeof *entry);
        *entry = (struct entry){ part->first, key, 0 };
        part->first = entry;
    }
    entry->value += value;
    pthread_mutex_unlock(&part->lock);
}

static void *work(void *arg)
{
    for (long i = 0; i < keys; i++)
        add((unsigned long)i % 256, 1);
    return arg;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    unsigned long sum = 0;

    if (argc > 1)
        keys = atol(argv[1]);
    for (int i = 0; i < PARTS; i++)
        pthread_mutex_init(&parts[i].lock, NULL);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, work, NULL);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < PARTS; i++)
        for (struct entry *entry = parts[i].first; entry; entry = entry->next)
            sum += entry->value;
    assert(sum == (unsigned long)keys * THREADS);
    return 0;
}
