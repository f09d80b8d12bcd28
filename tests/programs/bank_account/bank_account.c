// A deposit and a withdrawal at the same time.
//
// What is wrong: withdraw() looks at the balance in one critical section and sets it in another,
// because the fee is worked out without the lock. A deposit in between is overwritten. Every access
// holds the lock, so there is no data race for a race detector to find.
//
// After the "BankAccount" example of the literature on atomicity violations.
//
// expect kind: atomicity-violation
// expect cause 1: long available = account.balance;
// expect cause 2: account.balance = available - amount - fee;
// expect interference: account.balance += amount;

#include <assert.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>

struct account {
    pthread_mutex_t lock;
    long balance;
    int deposits;
    int withdrawals;
};

static struct account account = {.lock = PTHREAD_MUTEX_INITIALIZER, .balance = 300};

static long fee_for(long amount)
{
    if (amount <= 100)
        return 0;
    return amount / 100;
}

static void deposit(long amount)
{
    pthread_mutex_lock(&account.lock);
    account.balance += amount;
    account.deposits++;
    pthread_mutex_unlock(&account.lock);
}

static bool withdraw(long amount)
{
    pthread_mutex_lock(&account.lock);
    long available = account.balance;
    pthread_mutex_unlock(&account.lock);

    long fee = fee_for(amount);
    if (available < amount + fee)
        return false;

    pthread_mutex_lock(&account.lock);
    account.balance = available - amount - fee;
    account.withdrawals++;
    pthread_mutex_unlock(&account.lock);
    return true;
}

static void *payroll(void *arg)
{
    (void)arg;
    deposit(200);
    return NULL;
}

static void *cash_machine(void *arg)
{
    (void)arg;
    if (!withdraw(50))
        fprintf(stderr, "not enough money\n");
    return NULL;
}

int main(void)
{
    pthread_t threads[2];

    pthread_create(&threads[0], NULL, payroll, NULL);
    pthread_create(&threads[1], NULL, cash_machine, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);

    printf("balance %ld after %d deposit and %d withdrawal\n", account.balance, account.deposits,
           account.withdrawals);
    assert(account.balance == 450);
    return 0;
}
