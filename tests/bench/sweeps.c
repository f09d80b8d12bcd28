// Benchmark: two threads go over arrays of their own and over one that both read, and meet at a lock now and then.

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { WORDS = 4096, BETWEEN = 64 };

static long rounds = 40;
static long table[WORDS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long total;

static void sweep(long *own, long round)
{
    for (int i = 0; i < WORDS; i++)
        own[i] = own[i] * 3 + table[i] + round;
}

static void *work(void *arg)
{
    long *own = calloc(WORDS, sizeof *own);

    (void)arg;
    for (long round = 0; round < rounds; round++) {
        sweep(own, round);
        if (round % BETWEEN == 0) {
            pthread_mutex_lock(&lock);
            total += own[round % WORDS] & 1;
            pthread_mutex_unlock(&lock);
        }
    }
    free(own);
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[2];

    if (argc > 1)
        rounds = atol(argv[1]);
    for (int i = 0; i < WORDS; i++)
        table[i] = i;
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, work, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    printf("%ld\n", total);
    return 0;
}
