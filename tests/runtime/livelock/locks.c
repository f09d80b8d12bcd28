/* Threads that look under locks for what comes late: from a slow worker, from one that waits for the very lock that
   they look under, from one that only tries to take it. */
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool worked, waited, tried;
static volatile long table[8];

static void set(bool *flag) {
    pthread_mutex_lock(&lock);
    *flag = true;
    pthread_mutex_unlock(&lock);
}

static void *worker(void *unused) {
    register long all = 0;
    for (register int i = 0; i < 35000; i++)
        all += table[i & 7];
    if (all == 0)
        set(&worked);
    return unused;
}

static void *waiter(void *unused) {
    set(&waited);
    return unused;
}

static void *trier(void *unused) {
    while (pthread_mutex_trylock(&lock) != 0)
        sched_yield();
    tried = true;
    pthread_mutex_unlock(&lock);
    return unused;
}

static void *poller(void *unused) {
    pthread_mutex_lock(&lock);
    while (!worked || !waited || !tried) {
        sched_yield();
        pthread_mutex_unlock(&lock);
        sched_yield();
        pthread_mutex_lock(&lock);
    }
    pthread_mutex_unlock(&lock);
    return unused;
}

int main(void) {
    void *(*const jobs[])(void *) = {poller, waiter, trier, worker, poller};
    enum { JOBS = sizeof jobs / sizeof *jobs };
    pthread_t threads[JOBS];

    for (int i = 0; i < JOBS; i++)
        pthread_create(&threads[i], NULL, jobs[i], NULL);
    for (int i = 0; i < JOBS; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
