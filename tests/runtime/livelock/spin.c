/* A thread spins on a flag that nobody sets any more when the main thread has looked first. */
#include <pthread.h>

static volatile int ready, wanted;

static void *wait_for_it(void *unused) {
    wanted = 1;
    while (!ready)
        ;
    return unused;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, wait_for_it, NULL);
    if (wanted)
        ready = 1;
    pthread_join(thread, NULL);
    return 0;
}
