// Transfers in both directions, properly locked: the account with the lower number first.
//
// Nothing is wrong.
//
// expect no failure

#include <assert.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>

enum { ACCOUNTS = 2 };

struct account {
    pthread_mutex_t lock;
    int number;
    long balance;
};

struct transfer {
    int from, to;
    long amount;
};

static struct account accounts[ACCOUNTS] = {
    {PTHREAD_MUTEX_INITIALIZER, 0, 100},
    {PTHREAD_MUTEX_INITIALIZER, 1, 100},
};

static void lock_both(struct account *a, struct account *b)
{
    struct account *first = a->number < b->number ? a : b;
    struct account *second = first == a ? b : a;
    pthread_mutex_lock(&first->lock);
    pthread_mutex_lock(&second->lock);
}

static void unlock_both(struct account *a, struct account *b)
{
    pthread_mutex_unlock(&a->lock);
    pthread_mutex_unlock(&b->lock);
}

static bool move(struct account *from, struct account *to, long amount)
{
    lock_both(from, to);
    bool enough = from->balance >= amount;
    if (enough) {
        from->balance -= amount;
        to->balance += amount;
    }
    unlock_both(from, to);
    return enough;
}

static void *run(void *arg)
{
    const struct transfer *transfer = arg;
    for (int i = 0; i < 2; i++) {
        bool moved = move(&accounts[transfer->from], &accounts[transfer->to], transfer->amount);
        assert(moved);
    }
    return NULL;
}

int main(void)
{
    static const struct transfer transfers[2] = {{0, 1, 20}, {1, 0, 30}};
    pthread_t threads[2];

    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, run, (void *)&transfers[i]);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);

    printf("%ld and %ld\n", accounts[0].balance, accounts[1].balance);
    assert(accounts[0].balance == 120 && accounts[1].balance == 80);
    return 0;
}
