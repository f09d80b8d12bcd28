/* Two threads count under a lock, and one step in fifty without it. */
#include <assert.h>
#include <pthread.h>

enum { STEPS = 10000, EACH = 50, THREADS = 2 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long all, sampled;

static void *count(void *unused)
{
    (void)unused;
    for (int step = 0; step < STEPS; step++) {
        pthread_mutex_lock(&lock);
        all++;
        pthread_mutex_unlock(&lock);
        if (step % EACH == 7)
            sampled++;
    }
    return 0;
}

int main(void)
{
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], 0, count, 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], 0);
    assert(sampled == THREADS * STEPS / EACH);
    return 0;
}
