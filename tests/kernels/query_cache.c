// A cache of queries that can be made larger while it is used.
//
// What is wrong: resize() frees the blocks under a lock, but notes the new size before there are new blocks.
// Whoever stores a query in between finds a size and no blocks.
//
// After bug 12848 of MySQL.
//
// expect kind: multi-variable-atomicity-violation atomicity-violation
// expect cause: blocks = 0;
// expect cause: size = larger;
// expect cause: blocks = larger / 8;
// expect interference: if (size > 0) {
// expect interference: if (blocks > 0)

#include <assert.h>
#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int size = 16;
static int blocks = 2;
static int stored;
static int lost;

static void resize(int larger)
{
    pthread_mutex_lock(&lock);
    size = 0;
    blocks = 0;
    pthread_mutex_unlock(&lock);

    size = larger;

    pthread_mutex_lock(&lock);
    blocks = larger / 8;
    pthread_mutex_unlock(&lock);
}

static void store(void)
{
    pthread_mutex_lock(&lock);
    if (size > 0) {
        if (blocks > 0)
            stored++;
        else
            lost++;
    }
    pthread_mutex_unlock(&lock);
}

static void *administrate(void *arg)
{
    resize(32);
    return arg;
}

static void *query(void *arg)
{
    store();
    return arg;
}

int main(void)
{
    pthread_t threads[2];

    pthread_create(&threads[0], NULL, administrate, NULL);
    pthread_create(&threads[1], NULL, query, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    assert(lost == 0);
    return 0;
}
