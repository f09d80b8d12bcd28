// A mailbox with one place, two senders and two receivers. Whoever finds it full, or empty, waits for a
// change.
//
// What is wrong: senders and receivers wait for the same condition, and each change wakes only one of them.
// When that is one of the same kind, it goes back to sleep, and the signal is used up.
//
// expect kind: lost-wakeup
// expect cause: pthread_cond_wait(&box.changed, &box.lock); // full
// expect cause: pthread_cond_wait(&box.changed, &box.lock); // empty
// expect interference: pthread_cond_signal(&box.changed); // sent
// expect interference: pthread_cond_signal(&box.changed); // received
// expect also: while (box.full)
// expect also: while (!box.full)

#include <assert.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>

enum { SENDERS = 2, RECEIVERS = 2 };

struct mailbox {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool full;
    int letter;
};

static struct mailbox box = {
    .lock = PTHREAD_MUTEX_INITIALIZER,
    .changed = PTHREAD_COND_INITIALIZER,
};

static void post(int letter)
{
    pthread_mutex_lock(&box.lock);
    while (box.full)
        pthread_cond_wait(&box.changed, &box.lock); // full
    box.letter = letter;
    box.full = true;
    pthread_cond_signal(&box.changed); // sent
    pthread_mutex_unlock(&box.lock);
}

static int collect(void)
{
    pthread_mutex_lock(&box.lock);
    while (!box.full)
        pthread_cond_wait(&box.changed, &box.lock); // empty
    int letter = box.letter;
    box.full = false;
    pthread_cond_signal(&box.changed); // received
    pthread_mutex_unlock(&box.lock);
    return letter;
}

static void *sender(void *arg)
{
    post(*(int *)arg);
    return NULL;
}

static void *receiver(void *arg)
{
    *(int *)arg = collect();
    return NULL;
}

int main(void)
{
    pthread_t senders[SENDERS], receivers[RECEIVERS];
    int sent[SENDERS] = {10, 20}, received[RECEIVERS];

    for (int i = 0; i < RECEIVERS; i++)
        pthread_create(&receivers[i], NULL, receiver, &received[i]);
    for (int i = 0; i < SENDERS; i++)
        pthread_create(&senders[i], NULL, sender, &sent[i]);
    for (int i = 0; i < SENDERS; i++)
        pthread_join(senders[i], NULL);
    for (int i = 0; i < RECEIVERS; i++)
        pthread_join(receivers[i], NULL);

    printf("%d and %d\n", received[0], received[1]);
    assert(received[0] + received[1] == 30);
    return 0;
}
