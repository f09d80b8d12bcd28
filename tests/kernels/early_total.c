// Two threads add to a total under a lock, a third one checks that it is not complete yet.
//
// What is wrong: nothing makes the check come before the last one of the others.
//
// After "lazy01" of the software verification competition.
//
// expect kind: order-violation
// expect cause: assert(total < 3);
// expect interference: total += 1;
// expect interference: total += 2;

#include <assert.h>
#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int total;

static void *add_one(void *arg)
{
    pthread_mutex_lock(&lock);
    total += 1;
    pthread_mutex_unlock(&lock);
    return arg;
}

static void *add_two(void *arg)
{
    pthread_mutex_lock(&lock);
    total += 2;
    pthread_mutex_unlock(&lock);
    return arg;
}

static void *check(void *arg)
{
    pthread_mutex_lock(&lock);
    assert(total < 3);
    pthread_mutex_unlock(&lock);
    return arg;
}

int main(void)
{
    void *(*const work[])(void *) = {add_one, add_two, check};
    pthread_t threads[3];

    for (int i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, work[i], NULL);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
