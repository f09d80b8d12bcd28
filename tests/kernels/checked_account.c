// A deposit and a withdrawal, and a check of the balance once both are done.
//
// What is wrong: both read the balance before they take the lock under which they set it.
//
// After the "account" kernel of the literature on model checking.
//
// expect kind: atomicity-violation
// expect cause: int before = balance;
// expect cause: balance = before + 10;
// expect cause: int available = balance;
// expect cause: balance = available - 5;
// expect interference: balance = before + 10;
// expect interference: balance = available - 5;

#include <assert.h>
#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int balance = 20;
static int done;

static void *deposit(void *arg)
{
    int before = balance;
    pthread_mutex_lock(&lock);
    balance = before + 10;
    done++;
    pthread_mutex_unlock(&lock);
    return arg;
}

static void *withdraw(void *arg)
{
    int available = balance;
    pthread_mutex_lock(&lock);
    balance = available - 5;
    done++;
    pthread_mutex_unlock(&lock);
    return arg;
}

static void *check(void *arg)
{
    pthread_mutex_lock(&lock);
    if (done == 2)
        assert(balance == 25);
    pthread_mutex_unlock(&lock);
    return arg;
}

int main(void)
{
    pthread_t threads[2], checker;

    pthread_create(&threads[0], NULL, deposit, NULL);
    pthread_create(&threads[1], NULL, withdraw, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    pthread_create(&checker, NULL, check, NULL);
    pthread_join(checker, NULL);
    return 0;
}
