// Two threads add up the halves of an array; the sums are put together when both have ended.
//
// What is wrong: the loop leaves out the last number of each half. That has nothing to do with the
// threads: it fails in every order.
//
// expect kind: sequential

#include <assert.h>
#include <pthread.h>
#include <stdio.h>

enum { NUMBERS = 8, THREADS = 2 };

struct part {
    const int *numbers;
    int count;
    long sum;
};

static int numbers[NUMBERS];

static void *add_up(void *arg)
{
    struct part *part = arg;
    for (int i = 0; i < part->count - 1; i++)
        part->sum += part->numbers[i];
    return NULL;
}

int main(void)
{
    struct part parts[THREADS];
    pthread_t threads[THREADS];
    long sum = 0;

    for (int i = 0; i < NUMBERS; i++)
        numbers[i] = i + 1;
    for (int i = 0; i < THREADS; i++) {
        parts[i] = (struct part){numbers + i * NUMBERS / THREADS, NUMBERS / THREADS, 0};
        pthread_create(&threads[i], NULL, add_up, &parts[i]);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        sum += parts[i].sum;
    }

    printf("sum %ld\n", sum);
    assert(sum == 36);
    return 0;
}
