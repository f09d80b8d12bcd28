// Two clerks move money between two accounts, in opposite directions. Neither waits with a lock in hand:
// who cannot have the second lock gives the first one back and begins again.
//
// What is wrong: nothing makes one of them win. Both can take their first lock, find the other one taken
// and give up at the same time, again and again: a livelock. The watchdog ends the program then.
//
// expect kind: deadlock
// expect cause: if (pthread_mutex_trylock(&second->lock) == 0)
// expect interference: pthread_mutex_lock(&first->lock);
// expect also: pthread_mutex_unlock(&first->lock); // back

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

enum { PATIENCE = 3 };

struct account {
    pthread_mutex_t lock;
    long balance;
};

struct order {
    struct account *from, *to;
    long amount;
};

static struct account checking = {PTHREAD_MUTEX_INITIALIZER, 100};
static struct account savings = {PTHREAD_MUTEX_INITIALIZER, 100};

static bool lock_both(struct account *first, struct account *second)
{
    pthread_mutex_lock(&first->lock);
    if (pthread_mutex_trylock(&second->lock) == 0)
        return true;
    pthread_mutex_unlock(&first->lock); // back
    return false;
}

static void watchdog(int attempts)
{
    if (attempts == PATIENCE) {
        fprintf(stderr, "no progress after %d attempts\n", attempts);
        abort();
    }
}

static void *transfer(void *arg)
{
    struct order *order = arg;
    int attempts = 0;
    while (!lock_both(order->from, order->to))
        watchdog(++attempts);
    order->from->balance -= order->amount;
    order->to->balance += order->amount;
    pthread_mutex_unlock(&order->to->lock);
    pthread_mutex_unlock(&order->from->lock);
    return NULL;
}

int main(void)
{
    struct order orders[2] = {{&checking, &savings, 10}, {&savings, &checking, 30}};
    pthread_t clerks[2];

    for (int i = 0; i < 2; i++)
        pthread_create(&clerks[i], NULL, transfer, &orders[i]);
    for (int i = 0; i < 2; i++)
        pthread_join(clerks[i], NULL);
    printf("checking %ld, savings %ld\n", checking.balance, savings.balance);
    return 0;
}
