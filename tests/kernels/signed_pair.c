// A pair of numbers is set by two threads and looked at by another one: both are set, or neither.
//
// What is wrong: the two are set one after the other.
//
// After "reorder_2" of the software verification competition.
//
// expect kind: atomicity-violation multi-variable-atomicity-violation
// expect cause: plus = 1;
// expect cause: minus = -1;
// expect cause: int seen_plus = plus;
// expect cause: int seen_minus = minus;
// expect interference: plus = 1;
// expect interference: minus = -1;
// expect interference: int seen_plus = plus;
// expect interference: int seen_minus = minus;

#include <assert.h>
#include <pthread.h>

enum { SETTERS = 2 };

static int plus;
static int minus;
static int sum;

static void *set(void *arg)
{
    plus = 1;
    minus = -1;
    return arg;
}

static void *check(void *arg)
{
    int seen_plus = plus;
    int seen_minus = minus;
    sum = seen_plus + seen_minus;
    return arg;
}

int main(void)
{
    pthread_t setters[SETTERS], checker;

    for (int i = 0; i < SETTERS; i++)
        pthread_create(&setters[i], NULL, set, NULL);
    pthread_create(&checker, NULL, check, NULL);
    for (int i = 0; i < SETTERS; i++)
        pthread_join(setters[i], NULL);
    pthread_join(checker, NULL);
    assert(sum == 0);
    return 0;
}
