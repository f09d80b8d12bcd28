// A worker looks at a word of flags again and again, until it is asked to stop.
//
// What is wrong: the worker clears a flag by reading the word and writing it back. A request to stop that
// comes in between is gone, and the worker goes on for ever: a livelock.
//
// expect kind: atomicity-violation
// expect cause 1: unsigned seen = worker.flags;
// expect cause 2: worker.flags = seen & ~(unsigned)REFRESH;
// expect interference: worker.flags |= STOP;

#include <pthread.h>
#include <sched.h>
#include <stdio.h>

enum { STOP = 1, REFRESH = 2 };

struct worker {
    volatile unsigned flags;
    int refreshed;
};

static struct worker worker;

static void refresh(void)
{
    unsigned seen = worker.flags;
    worker.refreshed++;
    worker.flags = seen & ~(unsigned)REFRESH;
}

static void *work(void *arg)
{
    while ((worker.flags & STOP) == 0) {
        if (worker.flags & REFRESH)
            refresh();
        else
            sched_yield();
    }
    return arg;
}

int main(void)
{
    pthread_t thread;

    worker.flags = REFRESH;
    pthread_create(&thread, NULL, work, NULL);
    worker.flags |= STOP;
    pthread_join(thread, NULL);
    printf("refreshed %d times\n", worker.refreshed);
    return 0;
}
