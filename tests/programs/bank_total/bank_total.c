// Two tellers pay money into the accounts of a bank, which also keeps the total of all accounts.
// How often: ./bank_total [PAYMENTS].
//
// What is wrong: the total is read in one critical section and written in the next, because the report
// in between is printed without the lock. A payment in between is lost from the total. It shows only in
// the end, when the accounts are added up.
//
// After the "BankAccount" program of the ConTest benchmarks.
//
// expect kind: atomicity-violation
// expect cause 1: long before = bank_total;
// expect cause 2: bank_total = before + amount;
// expect interference: bank_total = before + amount;

#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { TELLERS = 2, ACCOUNTS = 4, PAYMENTS = 6 };

struct account {
    pthread_mutex_t lock;
    long balance;
};

static struct account accounts[ACCOUNTS];
static pthread_mutex_t total_lock = PTHREAD_MUTEX_INITIALIZER;
static long bank_total;
static long payments = PAYMENTS;

static void add_to_total(long amount)
{
    pthread_mutex_lock(&total_lock);
    long before = bank_total;
    pthread_mutex_unlock(&total_lock);

    if (amount > 1000)
        fprintf(stderr, "%ld on top of %ld is to be reported\n", amount, before);

    pthread_mutex_lock(&total_lock);
    bank_total = before + amount;
    pthread_mutex_unlock(&total_lock);
}

static void pay_in(struct account *account, long amount)
{
    pthread_mutex_lock(&account->lock);
    account->balance += amount;
    pthread_mutex_unlock(&account->lock);
    add_to_total(amount);
}

static void *serve(void *arg)
{
    long teller = (long)arg;
    for (long i = 0; i < payments; i++)
        pay_in(&accounts[(teller + i) % ACCOUNTS], 10 * teller + i % 7);
    return NULL;
}

static long accounts_total(void)
{
    long total = 0;
    for (int i = 0; i < ACCOUNTS; i++) {
        pthread_mutex_lock(&accounts[i].lock);
        total += accounts[i].balance;
        pthread_mutex_unlock(&accounts[i].lock);
    }
    return total;
}

int main(int argc, char **argv)
{
    pthread_t tellers[TELLERS];

    if (argc > 1)
        payments = atol(argv[1]);
    for (int i = 0; i < ACCOUNTS; i++)
        pthread_mutex_init(&accounts[i].lock, NULL);
    for (long i = 0; i < TELLERS; i++)
        pthread_create(&tellers[i], NULL, serve, (void *)(i + 1));
    for (int i = 0; i < TELLERS; i++)
        pthread_join(tellers[i], NULL);

    long total = accounts_total();
    printf("accounts hold %ld, the total is %ld\n", total, bank_total);
    assert(total == bank_total);
    return 0;
}
