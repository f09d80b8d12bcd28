/* Two threads that compute for long, each with data of its own. */
#include <pthread.h>

static volatile long sums[2];

static void *count(void *sum) {
    for (int i = 0; i < 40000; i++)
        *(volatile long *)sum += i;
    return NULL;
}

int main(void) {
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, count, (void *)&sums[0]);
    pthread_create(&threads[1], NULL, count, (void *)&sums[1]);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    return sums[0] != sums[1];
}
