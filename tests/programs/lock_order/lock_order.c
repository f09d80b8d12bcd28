// Money moves between two accounts, in both directions at the same time.
//
// What is wrong: transfer() locks the account that the money comes from first. Two transfers in
// opposite directions lock in opposite orders, and each can end up waiting for the other.
//
// expect kind: deadlock
// expect cause: pthread_mutex_lock(&to->lock);
// expect interference: pthread_mutex_lock(&from->lock);

#include <assert.h>
#include <pthread.h>
#include <stdio.h>

struct account {
    const char *owner;
    pthread_mutex_t lock;
    long balance;
};

struct order {
    struct account *from, *to;
    long amount;
};

static struct account alice = {"alice", PTHREAD_MUTEX_INITIALIZER, 100};
static struct account bob = {"bob", PTHREAD_MUTEX_INITIALIZER, 100};

static void transfer(struct account *from, struct account *to, long amount)
{
    pthread_mutex_lock(&from->lock);
    pthread_mutex_lock(&to->lock);
    if (from->balance >= amount) {
        from->balance -= amount;
        to->balance += amount;
    }
    pthread_mutex_unlock(&to->lock);
    pthread_mutex_unlock(&from->lock);
}

static void *execute(void *arg)
{
    struct order *order = arg;
    transfer(order->from, order->to, order->amount);
    return NULL;
}

int main(void)
{
    struct order orders[2] = {{&alice, &bob, 30}, {&bob, &alice, 10}};
    pthread_t threads[2];

    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, execute, &orders[i]);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);

    printf("%s %ld, %s %ld\n", alice.owner, alice.balance, bob.owner, bob.balance);
    assert(alice.balance == 80 && bob.balance == 120);
    return 0;
}
