/* A lock that is taken by exchanging its word, and a mutex, in both orders. */
#include <pthread.h>
#include <sched.h>

static volatile int word;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void take(volatile int *lock) {
    while (__atomic_exchange_n(lock, 1, __ATOMIC_ACQUIRE) != 0)
        sched_yield();
}

static void give_back(volatile int *lock) {
    __atomic_store_n(lock, 0, __ATOMIC_RELEASE);
}

static void *mutex_first(void *unused) {
    pthread_mutex_lock(&mutex);
    take(&word);
    give_back(&word);
    pthread_mutex_unlock(&mutex);
    return unused;
}

static void *word_first(void *unused) {
    take(&word);
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
    give_back(&word);
    return unused;
}

int main(void) {
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, mutex_first, NULL);
    pthread_create(&threads[1], NULL, word_first, NULL);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    return 0;
}
