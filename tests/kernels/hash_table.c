// A hash table with a chain per bucket; two threads insert keys that fall into the same bucket.
//
// What is wrong: insert() reads the bucket's first entry and sets it later, without a lock. Of two entries
// that are inserted at the same time one is lost.
//
// After the "hash_table" kernel of the literature on concurrent data structures.
//
// expect kind: atomicity-violation
// expect cause: entry->next = *bucket;
// expect cause: *bucket = entry;
// expect interference: *bucket = entry;

#include <assert.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

enum { BUCKETS = 4 };

struct entry {
    int key;
    struct entry *next;
};

static struct entry *buckets[BUCKETS];
static struct entry entries[2] = {{1, NULL}, {5, NULL}};

static void insert(struct entry *entry)
{
    struct entry **bucket = &buckets[entry->key % BUCKETS];
    entry->next = *bucket;
    *bucket = entry;
}

static bool contains(int key)
{
    for (struct entry *entry = buckets[key % BUCKETS]; entry; entry = entry->next)
        if (entry->key == key)
            return true;
    return false;
}

static void *work(void *arg)
{
    insert(arg);
    return NULL;
}

int main(void)
{
    pthread_t threads[2];

    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, work, &entries[i]);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    assert(contains(1) && contains(5));
    return 0;
}
