// Two threads look for primes and collect them in one vector.
//
// What is wrong: the place for the next prime is read and moved in two steps. Two primes get the same place.
//
// After "VectPrime" of the literature on concurrency benchmarks.
//
// expect kind: atomicity-violation
// expect cause: int place = count;
// expect cause: count = place + 1;
// expect interference: count = place + 1;

#include <assert.h>
#include <pthread.h>
#include <stdbool.h>

enum { MOST = 8, PRIMES = 4 };

struct range {
    int from;
    int to;
};

static struct range ranges[2] = {{2, 5}, {6, 9}};
static int primes[MOST];
static int count;

static bool is_prime(int number)
{
    for (int divisor = 2; divisor * divisor <= number; divisor++)
        if (number % divisor == 0)
            return false;
    return true;
}

static void collect(int number)
{
    int place = count;
    primes[place] = number;
    count = place + 1;
}

static void *search(void *arg)
{
    struct range *range = arg;
    for (int number = range->from; number <= range->to; number++)
        if (is_prime(number))
            collect(number);
    return NULL;
}

int main(void)
{
    pthread_t threads[2];

    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, search, &ranges[i]);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    assert(count == PRIMES);
    return 0;
}
