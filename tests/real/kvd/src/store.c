#include "store.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BUCKETS 16

struct entry {
    struct entry *next;
    char *value;
    char key[];
};

struct shard {
    pthread_rwlock_t lock;
    struct entry *buckets[BUCKETS];
    size_t count;
};

struct store {
    size_t shard_count;
    struct shard *shards;
};

static unsigned hash(const char *key)
{
    unsigned value = 2166136261u;
    for (; *key != '\0'; key++)
        value = (value ^ (unsigned char)*key) * 16777619u;
    return value;
}

struct store *store_new(size_t shards)
{
    struct store *store = malloc(sizeof *store);

    if (store == NULL)
        return NULL;
    store->shard_count = shards;
    store->shards = calloc(shards, sizeof *store->shards);
    if (store->shards == NULL) {
        free(store);
        return NULL;
    }
    for (size_t i = 0; i < shards; i++)
        pthread_rwlock_init(&store->shards[i].lock, NULL);
    return store;
}

void store_free(struct store *store)
{
    for (size_t i = 0; i < store->shard_count; i++) {
        struct shard *shard = &store->shards[i];
        for (size_t bucket = 0; bucket < BUCKETS; bucket++)
            while (shard->buckets[bucket] != NULL) {
                struct entry *entry = shard->buckets[bucket];
                shard->buckets[bucket] = entry->next;
                free(entry->value);
                free(entry);
            }
        pthread_rwlock_destroy(&shard->lock);
    }
    free(store->shards);
    free(store);
}

static struct shard *shard_of(struct store *store, const char *key)
{
    return &store->shards[hash(key) / BUCKETS % store->shard_count];
}

/* The link that leads to the entry of `key`, or to where it would be. Under the shard's lock. */
static struct entry **find(struct shard *shard, const char *key)
{
    struct entry **link = &shard->buckets[hash(key) % BUCKETS];
    while (*link != NULL && strcmp((*link)->key, key) != 0)
        link = &(*link)->next;
    return link;
}

/* Replaces the value at `link`; takes over `value`. Under the shard's lock for writing. */
static int put(struct shard *shard, struct entry **link, const char *key, char *value)
{
    struct entry *entry = *link;

    if (entry == NULL) {
        entry = malloc(sizeof *entry + strlen(key) + 1);
        if (entry == NULL) {
            free(value);
            return -1;
        }
        strcpy(entry->key, key);
        entry->next = NULL;
        entry->value = NULL;
        *link = entry;
        shard->count++;
    }
    free(entry->value);
    entry->value = value;
    return 0;
}

char *store_get(struct store *store, const char *key)
{
    struct shard *shard = shard_of(store, key);
    struct entry *entry;
    char *value = NULL;

    pthread_rwlock_rdlock(&shard->lock);
    entry = *find(shard, key);
    if (entry != NULL)
        value = strdup(entry->value);
    pthread_rwlock_unlock(&shard->lock);
    return value;
}

int store_set(struct store *store, const char *key, const char *value)
{
    struct shard *shard = shard_of(store, key);
    char *copy = strdup(value);
    int result;

    if (copy == NULL)
        return -1;
    pthread_rwlock_wrlock(&shard->lock);
    result = put(shard, find(shard, key), key, copy);
    pthread_rwlock_unlock(&shard->lock);
    return result;
}

bool store_delete(struct store *store, const char *key)
{
    struct shard *shard = shard_of(store, key);
    struct entry **link, *entry;

    pthread_rwlock_wrlock(&shard->lock);
    link = find(shard, key);
    entry = *link;
    if (entry != NULL) {
        *link = entry->next;
        shard->count--;
    }
    pthread_rwlock_unlock(&shard->lock);
    if (entry == NULL)
        return false;
    free(entry->value);
    free(entry);
    return true;
}

static int to_number(const char *text, long *number)
{
    char *end;

    errno = 0;
    *number = strtol(text, &end, 10);
    return errno != 0 || end == text || *end != '\0' ? -1 : 0;
}

int store_add(struct store *store, const char *key, long amount, long *sum)
{
    struct shard *shard = shard_of(store, key);
    struct entry **link;
    char text[32];
    long number = 0;
    int result = 0;

    pthread_rwlock_wrlock(&shard->lock);
    link = find(shard, key);
    if (*link != NULL)
        result = to_number((*link)->value, &number);
    if (result == 0) {
        char *copy;
        *sum = number + amount;
        snprintf(text, sizeof text, "%ld", *sum);
        copy = strdup(text);
        result = copy == NULL ? -1 : put(shard, link, key, copy);
    }
    pthread_rwlock_unlock(&shard->lock);
    return result;
}

size_t store_count(struct store *store)
{
    size_t count = 0;

    for (size_t i = 0; i < store->shard_count; i++) {
        pthread_rwlock_rdlock(&store->shards[i].lock);
        count += store->shards[i].count;
        pthread_rwlock_unlock(&store->shards[i].lock);
    }
    return count;
}
