// Accounts with a lock each, a journal with another. Both accounts of a transfer are locked by rising number;
// the journal comes last.
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { ACCOUNTS = 3, TELLERS = 2, JOBS = 3, JOURNAL = 32 };

typedef struct {
    int number;
    long balance;
    int movements;
    pthread_mutex_t lock;
} account_t;

typedef struct {
    int from, to;
    long amount;
    int ok;
} entry_t;

static account_t accounts[ACCOUNTS];

static struct {
    pthread_mutex_t lock;
    entry_t entries[JOURNAL];
    int count;
    long refused;
} journal = { .lock = PTHREAD_MUTEX_INITIALIZER };

typedef struct {
    int from, to;
    long amount;
} order_t;

static const order_t plan[TELLERS][JOBS] = {
    { { 0, 1, 60 }, { 1, 2, 30 }, { 2, 0, 500 } },
    { { 1, 0, 45 }, { 2, 1, 80 }, { 0, 2, 25 } },
};

static void journal_add(int from, int to, long amount, int ok)
{
    pthread_mutex_lock(&journal.lock);
    entry_t *entry = &journal.entries[journal.count];
    entry->from = from;
    entry->to = to;
    entry->amount = amount;
    entry->ok = ok;
    journal.count++;
    if (!ok)
        journal.refused += amount;
    pthread_mutex_unlock(&journal.lock);
}

static int transfer(account_t *from, account_t *to, long amount)
{
    account_t *low = from, *high = to;
    if (low->number > high->number) {
        low = to;
        high = from;
    }
    pthread_mutex_lock(&low->lock);
    pthread_mutex_lock(&high->lock);
    if (from->balance < amount) {
        journal_add(from->number, to->number, amount, 0);
        pthread_mutex_unlock(&high->lock);
        pthread_mutex_unlock(&low->lock);
        return -1;
    }
    from->balance -= amount;
    to->balance += amount;
    from->movements++;
    to->movements++;
    journal_add(from->number, to->number, amount, 1);
    pthread_mutex_unlock(&high->lock);
    pthread_mutex_unlock(&low->lock);
    return 0;
}

static void charge_fee(account_t *account, long fee)
{
    pthread_mutex_lock(&account->lock);
    if (account->balance >= fee)
        account->balance -= fee;
    else
        fee = 0;
    account->movements++;
    journal_add(account->number, -1, fee, 1);
    pthread_mutex_unlock(&account->lock);
}

static void *teller(void *arg)
{
    const order_t *orders = arg;
    for (int i = 0; i < JOBS; i++)
        transfer(&accounts[orders[i].from], &accounts[orders[i].to], orders[i].amount);
    charge_fee(&accounts[0], 5);
    return NULL;
}

static void audit(void)
{
    long balance[ACCOUNTS];
    int movements[ACCOUNTS];
    long refused = 0;
    memset(movements, 0, sizeof movements);
    for (int i = 0; i < ACCOUNTS; i++)
        balance[i] = 100;
    for (int i = 0; i < journal.count; i++) {
        const entry_t *entry = &journal.entries[i];
        if (!entry->ok) {
            refused += entry->amount;
            continue;
        }
        balance[entry->from] -= entry->amount;
        assert(balance[entry->from] >= 0);
        movements[entry->from]++;
        if (entry->to >= 0) {
            balance[entry->to] += entry->amount;
            movements[entry->to]++;
        }
    }
    assert(refused == journal.refused);
    for (int i = 0; i < ACCOUNTS; i++) {
        assert(balance[i] == accounts[i].balance);
        assert(movements[i] == accounts[i].movements);
    }
}

int main(void)
{
    pthread_t tellers[TELLERS];

    for (int i = 0; i < ACCOUNTS; i++) {
        accounts[i].number = i;
        accounts[i].balance = 100;
        pthread_mutex_init(&accounts[i].lock, NULL);
    }
    for (int i = 0; i < TELLERS; i++)
        pthread_create(&tellers[i], NULL, teller, (void *)plan[i]);
    for (int i = 0; i < TELLERS; i++)
        pthread_join(tellers[i], NULL);

    assert(journal.count == TELLERS * (JOBS + 1));
    audit();
    puts("the books are in order");
    return 0;
}
