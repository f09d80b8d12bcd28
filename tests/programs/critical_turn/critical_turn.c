// Two threads agree about who may enter by a flag each, without any lock.
//
// What is wrong: enter() looks at the other's flag before it raises its own. Both see the other's flag
// down, and both are inside.
//
// After the program "Critical" of the ConTest benchmark of concurrent programs.
//
// expect kind: multi-variable-atomicity-violation
// expect cause 1: while (wants[other])
// expect cause 2: wants[self] = 1;
// expect interference: while (wants[other])
// expect interference: wants[self] = 1;
//
// still wrong: gcc -O0, gcc -O2, clang -O2

#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>

static volatile int wants[2];
static volatile int inside;
static volatile int visits;

static void enter(int self)
{
    int other = 1 - self;
    while (wants[other])
        sched_yield();
    wants[self] = 1;
}

static void leave(int self)
{
    wants[self] = 0;
}

static void *visitor(void *arg)
{
    int self = *(int *)arg;

    enter(self);
    inside++;
    assert(inside == 1);
    visits++;
    inside--;
    leave(self);
    return NULL;
}

int main(void)
{
    pthread_t threads[2];
    int numbers[2] = {0, 1};

    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, visitor, &numbers[i]);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);

    printf("%d visits\n", visits);
    return 0;
}
