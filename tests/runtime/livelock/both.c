/* Each of two threads lets the other one go first. */
#include <pthread.h>
#include <sched.h>

static volatile int polite[2];

static void *pass(void *number) {
    int me = (int)(long)number;
    polite[me] = 1;
    while (polite[1 - me])
        sched_yield();
    polite[me] = 0;
    return NULL;
}

int main(void) {
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, pass, (void *)0);
    pthread_create(&threads[1], NULL, pass, (void *)1);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    return 0;
}
