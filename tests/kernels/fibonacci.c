// Two threads add each other's number to their own, twice each.
//
// What is wrong: only the worst of all orders, in which they take turns, reaches the fourth sum.
//
// After "fibbench" of the software verification competition.
//
// expect kind: order-violation atomicity-violation
// expect cause: left += right;
// expect interference: right += left;

#include <assert.h>
#include <pthread.h>

enum { ROUNDS = 2, WORST = 8 };

static int left = 1;
static int right = 1;

static void *add_left(void *arg)
{
    for (int i = 0; i < ROUNDS; i++)
        left += right;
    return arg;
}

static void *add_right(void *arg)
{
    for (int i = 0; i < ROUNDS; i++)
        right += left;
    return arg;
}

int main(void)
{
    pthread_t threads[2];

    pthread_create(&threads[0], NULL, add_left, NULL);
    pthread_create(&threads[1], NULL, add_right, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    assert(left < WORST && right < WORST);
    return 0;
}
