/*
 * kv_store: a table of strings in shards. Each shard has a lock for readers and
 * writers; the number of all entries and the bytes they take are kept apart.
 * Watchers are told about changes of a prefix.
 *
 * Lock order: a shard, then the totals, then the watchers. Shards by index.
 */
#include <assert.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N_SHARDS 3
#define N_SLOTS 4
#define KEY_MAX 12
#define N_WATCHERS 2

typedef struct entry_s {
    struct entry_s *next;
    char key[KEY_MAX];
    char *value;
    size_t size;
    unsigned version;
} entry_s;

typedef struct shard_s {
    pthread_rwlock_t rw;
    entry_s *slots[N_SLOTS];
    unsigned entries;
    unsigned version;
} shard_s;

typedef struct watcher_s {
    bool used;
    char prefix[KEY_MAX];
    unsigned events;
    unsigned last_version;
} watcher_s;

typedef struct store_s {
    shard_s shards[N_SHARDS];
    struct {
        pthread_mutex_t mu;
        unsigned entries;
        size_t bytes;
        size_t peak;
    } totals;
    struct {
        pthread_mutex_t mu;
        pthread_cond_t event;
        watcher_s list[N_WATCHERS];
        bool closed;
    } watch;
} store_s;

enum status {
    OK,
    NOT_FOUND,
    CONFLICT,
    TOO_LONG,
};

static unsigned hash(const char *key)
{
    unsigned h = 5381;
    while (*key)
        h = h * 33 + (unsigned char)*key++;
    return h;
}

static shard_s *shard_of(store_s *s, const char *key)
{
    return &s->shards[hash(key) % N_SHARDS];
}

static entry_s **slot_of(shard_s *shard, const char *key)
{
    return &shard->slots[hash(key) / N_SHARDS % N_SLOTS];
}

static entry_s **find(shard_s *shard, const char *key)
{
    entry_s **link = slot_of(shard, key);
    while (*link && strcmp((*link)->key, key) != 0)
        link = &(*link)->next;
    return link;
}

static void store_init(store_s *s)
{
    memset(s, 0, sizeof *s);
    for (int i = 0; i < N_SHARDS; i++)
        pthread_rwlock_init(&s->shards[i].rw, NULL);
    pthread_mutex_init(&s->totals.mu, NULL);
    pthread_mutex_init(&s->watch.mu, NULL);
    pthread_cond_init(&s->watch.event, NULL);
}

static void account(store_s *s, int entries, long bytes)
{
    pthread_mutex_lock(&s->totals.mu);
    s->totals.entries += (unsigned)entries;
    s->totals.bytes += (size_t)bytes;
    if (s->totals.bytes > s->totals.peak)
        s->totals.peak = s->totals.bytes;
    pthread_mutex_unlock(&s->totals.mu);
}

static void notify(store_s *s, const char *key, unsigned version)
{
    bool any = false;

    pthread_mutex_lock(&s->watch.mu);
    for (int i = 0; i < N_WATCHERS; i++) {
        watcher_s *w = &s->watch.list[i];
        if (!w->used || strncmp(w->prefix, key, strlen(w->prefix)) != 0)
            continue;
        w->events++;
        if (version > w->last_version)
            w->last_version = version;
        any = true;
    }
    if (any)
        pthread_cond_broadcast(&s->watch.event);
    pthread_mutex_unlock(&s->watch.mu);
}

static enum status store_put(store_s *s, const char *key, const char *value)
{
    shard_s *shard = shard_of(s, key);
    size_t size = strlen(value) + 1;
    unsigned version;
    long grown;
    int added = 0;

    if (strlen(key) >= KEY_MAX)
        return TOO_LONG;
    char *copy = malloc(size);
    memcpy(copy, value, size);

    pthread_rwlock_wrlock(&shard->rw);
    entry_s **link = find(shard, key);
    entry_s *e = *link;
    if (e) {
        grown = (long)size - (long)e->size;
        free(e->value);
    } else {
        e = calloc(1, sizeof *e);
        strcpy(e->key, key);
        *link = e;
        shard->entries++;
        grown = (long)size;
        added = 1;
    }
    e->value = copy;
    e->size = size;
    e->version = ++shard->version;
    version = e->version;
    account(s, added, grown);
    pthread_rwlock_unlock(&shard->rw);
    notify(s, key, version);
    return OK;
}

static enum status store_get(store_s *s, const char *key, char *to, size_t room, unsigned *version)
{
    shard_s *shard = shard_of(s, key);

    pthread_rwlock_rdlock(&shard->rw);
    const entry_s *e = *find(shard, key);
    if (!e) {
        pthread_rwlock_unlock(&shard->rw);
        return NOT_FOUND;
    }
    if (e->size > room) {
        pthread_rwlock_unlock(&shard->rw);
        return TOO_LONG;
    }
    memcpy(to, e->value, e->size);
    *version = e->version;
    pthread_rwlock_unlock(&shard->rw);
    return OK;
}

/* Puts a value only where nobody has put another one since. */
static enum status store_replace(store_s *s, const char *key, unsigned version, const char *value)
{
    shard_s *shard = shard_of(s, key);
    size_t size = strlen(value) + 1;

    pthread_rwlock_wrlock(&shard->rw);
    entry_s *e = *find(shard, key);
    if (!e || e->version != version) {
        pthread_rwlock_unlock(&shard->rw);
        return e ? CONFLICT : NOT_FOUND;
    }
    account(s, 0, (long)size - (long)e->size);
    e->value = realloc(e->value, size);
    memcpy(e->value, value, size);
    e->size = size;
    e->version = ++shard->version;
    version = e->version;
    pthread_rwlock_unlock(&shard->rw);
    notify(s, key, version);
    return OK;
}

static enum status store_delete(store_s *s, const char *key)
{
    shard_s *shard = shard_of(s, key);

    pthread_rwlock_wrlock(&shard->rw);
    entry_s **link = find(shard, key);
    entry_s *e = *link;
    if (!e) {
        pthread_rwlock_unlock(&shard->rw);
        return NOT_FOUND;
    }
    *link = e->next;
    shard->entries--;
    shard->version++;
    account(s, -1, -(long)e->size);
    pthread_rwlock_unlock(&shard->rw);
    free(e->value);
    free(e);
    return OK;
}

/* A number that was right at one moment: all shards are locked. */
static unsigned store_count(store_s *s)
{
    unsigned n = 0, total;

    for (int i = 0; i < N_SHARDS; i++)
        pthread_rwlock_rdlock(&s->shards[i].rw);
    for (int i = 0; i < N_SHARDS; i++)
        n += s->shards[i].entries;
    pthread_mutex_lock(&s->totals.mu);
    total = s->totals.entries;
    pthread_mutex_unlock(&s->totals.mu);
    for (int i = N_SHARDS - 1; i >= 0; i--)
        pthread_rwlock_unlock(&s->shards[i].rw);
    assert(n == total);
    return n;
}

static int watch_add(store_s *s, const char *prefix)
{
    int id = -1;

    pthread_mutex_lock(&s->watch.mu);
    for (int i = 0; i < N_WATCHERS && id < 0; i++)
        if (!s->watch.list[i].used)
            id = i;
    if (id >= 0) {
        watcher_s *w = &s->watch.list[id];
        w->used = true;
        w->events = 0;
        strcpy(w->prefix, prefix);
    }
    pthread_mutex_unlock(&s->watch.mu);
    return id;
}

static unsigned watch_wait(store_s *s, int id, unsigned events)
{
    unsigned seen;

    pthread_mutex_lock(&s->watch.mu);
    while (s->watch.list[id].events < events && !s->watch.closed)
        pthread_cond_wait(&s->watch.event, &s->watch.mu);
    seen = s->watch.list[id].events;
    pthread_mutex_unlock(&s->watch.mu);
    return seen;
}

static void store_close(store_s *s)
{
    pthread_mutex_lock(&s->watch.mu);
    s->watch.closed = true;
    pthread_mutex_unlock(&s->watch.mu);
    pthread_cond_broadcast(&s->watch.event);
}

static store_s store;
static int user_watch, all_watch;
static unsigned final_events;

static void increment(const char *key)
{
    char text[16], next[16];
    unsigned version;
    enum status status;

    do {
        status = store_get(&store, key, text, sizeof text, &version);
        assert(status == OK);
        snprintf(next, sizeof next, "%d", atoi(text) + 1);
        status = store_replace(&store, key, version, next);
    } while (status == CONFLICT);
    assert(status == OK);
}

static void *session(void *arg)
{
    const char *name = arg;
    char text[16];
    unsigned version;

    assert(store_put(&store, name, "here") == OK);
    increment("n");
    assert(store_get(&store, name, text, sizeof text, &version) == OK);
    assert(strcmp(text, "here") == 0);
    unsigned count = store_count(&store);
    assert(count >= 2 && count <= 3);
    increment("n");
    assert(store_delete(&store, name) == OK);
    assert(store_delete(&store, name) == NOT_FOUND);
    return NULL;
}

static void *watcher(void *unused)
{
    (void)unused;
    unsigned seen = watch_wait(&store, user_watch, 1);
    assert(seen >= 1);
    final_events = watch_wait(&store, all_watch, 100);
    return NULL;
}

int main(void)
{
    pthread_t sessions[2], observer;
    static const char *names[2] = { "u.ann", "u.bob" };
    char text[16];
    unsigned version;

    store_init(&store);
    assert(store_put(&store, "n", "40") == OK);
    user_watch = watch_add(&store, "u.");
    all_watch = watch_add(&store, "");
    assert(watch_add(&store, "x") == -1);
    pthread_create(&observer, NULL, watcher, NULL);
    for (int i = 0; i < 2; i++)
        pthread_create(&sessions[i], NULL, session, (void *)names[i]);
    for (int i = 0; i < 2; i++)
        pthread_join(sessions[i], NULL);
    store_close(&store);
    pthread_join(observer, NULL);

    assert(store_get(&store, "n", text, sizeof text, &version) == OK);
    assert(strcmp(text, "44") == 0);
    assert(store_count(&store) == 1);
    assert(store.totals.bytes == 3);
    assert(store.totals.peak >= 8 && store.totals.peak <= 13);
    assert(store.watch.list[user_watch].events == 2);
    assert(final_events == 6);
    return 0;
}
