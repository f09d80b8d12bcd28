// Two workers ask, without waiting, whether an event is set. It is, from the beginning.
//
// What is wrong: whoever asks takes the event's lock only if it is free, and takes a held lock for an event that is not
// set. So one worker leaves its part out when it asks while the other one does.
//
// After a defect of a library of events for POSIX (pevents).
//
// expect kind: order-violation
// expect cause: if (pthread_mutex_trylock(&event->lock) != 0)
// expect interference: pthread_mutex_unlock(&event->lock);

#include <assert.h>
#include <pthread.h>
#include <stdbool.h>

struct event {
    pthread_mutex_t lock;
    bool is_set;
};

static struct event started = {PTHREAD_MUTEX_INITIALIZER, true};
static int parts[2];

static bool ask(struct event *event)
{
    if (pthread_mutex_trylock(&event->lock) != 0)
        return false;
    bool is_set = event->is_set;
    pthread_mutex_unlock(&event->lock);
    return is_set;
}

static void *work(void *arg)
{
    int *part = arg;
    if (ask(&started))
        *part = 1;
    return NULL;
}

int main(void)
{
    pthread_t workers[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&workers[i], NULL, work, &parts[i]);
    for (int i = 0; i < 2; i++)
        pthread_join(workers[i], NULL);
    assert(parts[0] + parts[1] == 2);
    return 0;
}
