// A sender leaves two amounts in a box with one place, and announces each; a receiver adds up what it finds.
//
// What is wrong: nobody waits until an amount was taken. The second one is written over the first one, and the receiver
// finds it twice.
//
// After programs that take as many notices from an event loop as were sent, where the loop may make one of several.
//
// expect kind: order-violation
// expect cause: box->amount = amount;
// expect interference: total += box.amount;

#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>

enum { NOTICES = 2, SMALL = 1, LARGE = 10 };

struct box {
    sem_t announced;
    int amount;
};

static struct box box;
static int total;

static void notify(struct box *box, int amount)
{
    box->amount = amount;
    sem_post(&box->announced);
}

static void *send(void *arg)
{
    notify(&box, SMALL);
    notify(&box, LARGE);
    return arg;
}

static void *receive(void *arg)
{
    for (int i = 0; i < NOTICES; i++) {
        sem_wait(&box.announced);
        total += box.amount;
    }
    return arg;
}

int main(void)
{
    pthread_t sender, receiver;
    sem_init(&box.announced, 0, 0);
    pthread_create(&sender, NULL, send, NULL);
    pthread_create(&receiver, NULL, receive, NULL);
    pthread_join(sender, NULL);
    pthread_join(receiver, NULL);
    if (total != SMALL + LARGE) {
        fprintf(stderr, "received %d\n", total);
        return 1;
    }
    return 0;
}
