/* Waits in loops, tries again what may fail for no reason, and asks whether there is memory. */
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <threads.h>
#include <time.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static mtx_t gate;
static sem_t done;
static atomic_int total;
static int items;

static struct timespec soon(void) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 1;
    return until;
}

static void add(int amount) {
    int seen = atomic_load(&total);
    while (!atomic_compare_exchange_weak(&total, &seen, seen + amount))
        ;
}

static void *consumer(void *unused) {
    struct timespec until = soon();
    int *copy = malloc(sizeof *copy);
    pthread_mutex_lock(&lock);
    while (items == 0)
        if (pthread_cond_timedwait(&changed, &lock, &until) == ETIMEDOUT)
            until = soon();
    items--;
    pthread_mutex_unlock(&lock);
    while (mtx_trylock(&gate) != thrd_success)
        thrd_yield();
    add(1);
    mtx_unlock(&gate);
    free(copy);
    sem_post(&done);
    return unused;
}

int main(void) {
    pthread_t thread;
    struct timespec until = soon();
    mtx_init(&gate, mtx_plain);
    sem_init(&done, 0, 0);
    pthread_create(&thread, NULL, consumer, NULL);
    pthread_mutex_lock(&lock);
    items++;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&lock);
    add(2);
    while (sem_timedwait(&done, &until) != 0) {
        assert(errno == ETIMEDOUT);
        until = soon();
    }
    pthread_join(thread, NULL);
    assert(total == 3 && items == 0);
    return 0;
}
