// Three deposits by one thread and two withdrawals by another one, as they stand in an array.
//
// What is wrong: each transaction reads the balance in one critical section and sets it in another. What
// is set in between is overwritten.
//
// After Figures 1 and 2 of "Error Invariants for Concurrent Traces".
//
// expect kind: atomicity-violation
// expect cause: int taken = balance;
// expect cause: balance = lower;
// expect cause: int put = balance;
// expect cause: balance = higher;
// expect interference: balance = lower;
// expect interference: balance = higher;

#include <assert.h>
#include <pthread.h>

enum { MIN = 0, MAX = 10000 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const int amounts[5] = {100, 200, 300, 50, 25};
static int balance = 100;

static void deposit(int amount)
{
    pthread_mutex_lock(&lock);
    int put = balance;
    pthread_mutex_unlock(&lock);
    int higher = put;
    if (put + amount <= MAX)
        higher = put + amount;
    pthread_mutex_lock(&lock);
    balance = higher;
    pthread_mutex_unlock(&lock);
}

static void withdraw(int amount)
{
    pthread_mutex_lock(&lock);
    int taken = balance;
    pthread_mutex_unlock(&lock);
    int lower = taken;
    if (taken - amount >= MIN)
        lower = taken - amount;
    pthread_mutex_lock(&lock);
    balance = lower;
    pthread_mutex_unlock(&lock);
}

static void *deposits(void *arg)
{
    for (int i = 0; i < 3; i++)
        deposit(amounts[i]);
    return arg;
}

static void *withdrawals(void *arg)
{
    for (int i = 3; i < 5; i++)
        withdraw(amounts[i]);
    return arg;
}

int main(void)
{
    pthread_t threads[2];

    pthread_create(&threads[0], NULL, deposits, NULL);
    pthread_create(&threads[1], NULL, withdrawals, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    assert(balance == 625);
    return 0;
}
