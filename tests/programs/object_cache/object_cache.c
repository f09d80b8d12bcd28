// A cache of objects that two clients use, with a cleaner that wakes up now and then and removes what is
// old. How often it is used before the cleaner is told to stop: ./object_cache [ROUNDS].
//
// What is wrong: stop_cleaner() takes for granted that the cleaner is asleep and can be woken. When the
// cleaner has not got there yet, or is cleaning, the call is lost.
//
// After a bug of cache4j, in which a thread is interrupted outside of its try block.
//
// expect kind: order-violation
// expect cause: assert(cleaner.sleeps);
// expect interference: cleaner.sleeps = true;
// expect also: cleaner.sleeps = false;

#include <assert.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

enum { CLIENTS = 2, SLOTS = 4, OLD = 3 };

struct object {
    int key;
    int value;
    int used_at;
};

static struct {
    pthread_mutex_t lock;
    struct object slots[SLOTS];
    int now;
    int hits;
} cache = {.lock = PTHREAD_MUTEX_INITIALIZER};

static struct {
    pthread_mutex_t lock;
    pthread_cond_t called;
    bool sleeps;
    bool stops;
} cleaner = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false, false};

static int rounds = 1;

static int get(int key)
{
    pthread_mutex_lock(&cache.lock);
    struct object *object = &cache.slots[key % SLOTS];
    cache.now++;
    if (object->key == key) {
        cache.hits++;
    } else {
        object->key = key;
        object->value = key * key;
    }
    object->used_at = cache.now;
    int value = object->value;
    pthread_mutex_unlock(&cache.lock);
    return value;
}

static void clean(void)
{
    pthread_mutex_lock(&cache.lock);
    for (int i = 0; i < SLOTS; i++) {
        if (cache.slots[i].key != 0 && cache.now - cache.slots[i].used_at > OLD)
            cache.slots[i].key = 0;
    }
    pthread_mutex_unlock(&cache.lock);
}

static void *run_cleaner(void *arg)
{
    pthread_mutex_lock(&cleaner.lock);
    while (!cleaner.stops) {
        cleaner.sleeps = true;
        pthread_cond_wait(&cleaner.called, &cleaner.lock);
        cleaner.sleeps = false;
        pthread_mutex_unlock(&cleaner.lock);
        clean();
        pthread_mutex_lock(&cleaner.lock);
    }
    pthread_mutex_unlock(&cleaner.lock);
    return arg;
}

static void stop_cleaner(void)
{
    pthread_mutex_lock(&cleaner.lock);
    assert(cleaner.sleeps);
    cleaner.stops = true;
    pthread_cond_signal(&cleaner.called);
    pthread_mutex_unlock(&cleaner.lock);
}

static void wake_cleaner(void)
{
    pthread_mutex_lock(&cleaner.lock);
    pthread_cond_signal(&cleaner.called);
    pthread_mutex_unlock(&cleaner.lock);
}

static void *use(void *arg)
{
    int client = *(int *)arg;
    for (int i = 0; i < rounds; i++) {
        int key = 1 + (client + i) % 6;
        int value = get(key);
        if (i % 4 == 3)
            wake_cleaner();
        assert(value == key * key);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t clients[CLIENTS], cleaning;
    int numbers[CLIENTS];

    if (argc > 1)
        rounds = atoi(argv[1]);
    pthread_create(&cleaning, NULL, run_cleaner, NULL);
    for (int i = 0; i < CLIENTS; i++) {
        numbers[i] = i;
        pthread_create(&clients[i], NULL, use, &numbers[i]);
    }
    for (int i = 0; i < CLIENTS; i++)
        pthread_join(clients[i], NULL);
    stop_cleaner();
    pthread_join(cleaning, NULL);
    printf("%d hits\n", cache.hits);
    return 0;
}
