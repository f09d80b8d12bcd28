// Two viewers draw the same cached image while a third thread makes room.
//
// What is wrong, first: draw() looks the image up under the lock and draws it without; evict() frees it meanwhile.
//
// What is wrong, second: hits are counted by a load and a store of an atomic, so one can be lost.
//
// -DFIRST_FIXED and -DSECOND_FIXED build it without the one or the other.
//
// expect kind: use-after-free
// expect cause: free(old);
// expect interference: int shade = image->shade;
// and expect kind: atomicity-violation
// and expect cause 1: long hits = atomic_load(&cache.hits);
// and expect cause 2: atomic_store(&cache.hits, hits + 1);
// and expect interference: atomic_store(&cache.hits, hits + 1);

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { VIEWERS = 2, SHADE = 7 };

struct image {
    int shade;
};

static struct {
    pthread_mutex_t lock;
    struct image *image;
    atomic_long hits;
} cache = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void count_hit(void)
{
#ifdef SECOND_FIXED
    atomic_fetch_add(&cache.hits, 1);
#else
    long hits = atomic_load(&cache.hits);
    atomic_store(&cache.hits, hits + 1);
#endif
}

static void draw(void)
{
    pthread_mutex_lock(&cache.lock);
    struct image *image = cache.image;
#ifndef FIRST_FIXED
    pthread_mutex_unlock(&cache.lock);
#endif
    if (image != NULL) {
        int shade = image->shade;
        assert(shade == SHADE);
    }
#ifdef FIRST_FIXED
    pthread_mutex_unlock(&cache.lock);
#endif
}

static void *view(void *arg)
{
    (void)arg;
    draw();
    count_hit();
    return NULL;
}

static void *evict(void *arg)
{
    (void)arg;
    pthread_mutex_lock(&cache.lock);
    struct image *old = cache.image;
    cache.image = NULL;
    free(old);
    pthread_mutex_unlock(&cache.lock);
    return NULL;
}

int main(void)
{
    pthread_t viewers[VIEWERS], cleaner;

    cache.image = malloc(sizeof *cache.image);
    cache.image->shade = SHADE;
    for (int i = 0; i < VIEWERS; i++)
        pthread_create(&viewers[i], NULL, view, NULL);
    pthread_create(&cleaner, NULL, evict, NULL);
    for (int i = 0; i < VIEWERS; i++)
        pthread_join(viewers[i], NULL);
    pthread_join(cleaner, NULL);
    assert(cache.hits == VIEWERS);
    return 0;
}
