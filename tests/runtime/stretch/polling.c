/* Counts how often it looks for an answer. */
#include <pthread.h>
#include <stdatomic.h>

static atomic_int answer;
static long looks;

static void *ask(void *unused) {
    while (!atomic_load(&answer))
        looks++;
    return unused;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, ask, NULL);
    atomic_store(&answer, 42);
    pthread_join(thread, NULL);
    return 0;
}
