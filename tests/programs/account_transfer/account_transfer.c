// Two clerks look after an account each: a deposit, a withdrawal, and a transfer to the other account.
//
// What is wrong: transfer() holds the lock of the account that the money comes from, and changes the
// other account, too. A deposit there at the same moment, under that account's lock, is lost, or the
// transfer is.
//
// After the program "Account" of the ConTest benchmark of concurrent programs.
//
// expect kind: atomicity-violation
// expect cause 1: to->amount += sum;
// expect cause 2: account->amount += sum;
// expect cause 2: account->amount -= sum;
// expect cause 2: from->amount -= sum;
// expect interference: to->amount += sum;
// expect interference: account->amount += sum;
// expect interference: account->amount -= sum;
// expect interference: from->amount -= sum;

#include <assert.h>
#include <pthread.h>
#include <stdio.h>

struct account {
    const char *owner;
    pthread_mutex_t lock;
    long amount;
};

static struct account accounts[2] = {
    {"Ann", PTHREAD_MUTEX_INITIALIZER, 100},
    {"Bob", PTHREAD_MUTEX_INITIALIZER, 100},
};

static void deposit(struct account *account, long sum)
{
    pthread_mutex_lock(&account->lock);
    account->amount += sum;
    pthread_mutex_unlock(&account->lock);
}

static void withdraw(struct account *account, long sum)
{
    pthread_mutex_lock(&account->lock);
    account->amount -= sum;
    pthread_mutex_unlock(&account->lock);
}

static void transfer(struct account *from, struct account *to, long sum)
{
    pthread_mutex_lock(&from->lock);
    from->amount -= sum;
    to->amount += sum;
    pthread_mutex_unlock(&from->lock);
}

static void *clerk(void *arg)
{
    struct account *own = arg;
    struct account *other = own == &accounts[0] ? &accounts[1] : &accounts[0];

    deposit(own, 300);
    withdraw(own, 100);
    transfer(own, other, 99);
    return NULL;
}

int main(void)
{
    pthread_t clerks[2];

    for (int i = 0; i < 2; i++)
        pthread_create(&clerks[i], NULL, clerk, &accounts[i]);
    for (int i = 0; i < 2; i++)
        pthread_join(clerks[i], NULL);

    for (int i = 0; i < 2; i++)
        printf("%s has %ld\n", accounts[i].owner, accounts[i].amount);
    assert(accounts[0].amount == 300);
    assert(accounts[1].amount == 300);
    return 0;
}
