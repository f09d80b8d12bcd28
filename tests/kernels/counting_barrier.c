// A barrier that counts who has arrived; the last one opens it.
//
// What is wrong: the count goes up under a lock, but is looked at again without it. Two threads may both
// take themselves for the last one.
//
// After the barrier of the software verification competition ("barrier_vf").
//
// expect kind: atomicity-violation
// expect cause: arrived++;
// expect cause: if (arrived == THREADS)
// expect interference: arrived++;

#include <assert.h>
#include <pthread.h>

enum { THREADS = 3 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int arrived;
static int opened;

static void arrive(void)
{
    pthread_mutex_lock(&lock);
    arrived++;
    pthread_mutex_unlock(&lock);

    if (arrived == THREADS) {
        pthread_mutex_lock(&lock);
        opened++;
        pthread_mutex_unlock(&lock);
    }
}

static void *work(void *arg)
{
    arrive();
    return arg;
}

int main(void)
{
    pthread_t threads[THREADS];

    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, work, NULL);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assert(opened == 1);
    return 0;
}
