// A process table with a monitor: a worker takes a process off the list while the monitor sweeps it.
//
// What is wrong: sweep() looks whether a slot holds a process, then goes to it through the slot again.
// retire() may have emptied the slot in between.
//
// After a kernel of bugs of the kind "look at a pointer, then follow it".
//
// expect kind: atomicity-violation
// expect cause 1: if (slots[i] == NULL)
// expect cause 2: used += slots[i]->pages;
// expect interference: slots[i] = NULL;
//
// With optimization the compiler reads the slot once, for the look and for the use.
//
// without the bug: gcc -O1, gcc -O2, clang -O1, clang -O2

#include <pthread.h>
#include <stdio.h>

enum { SLOTS = 3 };

struct process {
    int id;
    int pages;
};

static struct process processes[SLOTS] = {{1, 10}, {2, 20}, {3, 30}};
static struct process *slots[SLOTS];
static int freed;

static void retire(int i)
{
    freed += processes[i].pages;
    slots[i] = NULL;
}

static int sweep(void)
{
    int used = 0;
    for (int i = 0; i < SLOTS; i++) {
        if (slots[i] == NULL)
            continue;
        used += slots[i]->pages;
    }
    return used;
}

static void *work(void *arg)
{
    retire(1);
    return arg;
}

static void *monitor(void *arg)
{
    printf("%d pages used\n", sweep());
    return arg;
}

int main(void)
{
    pthread_t worker, sweeper;

    for (int i = 0; i < SLOTS; i++)
        slots[i] = &processes[i];
    pthread_create(&worker, NULL, work, NULL);
    pthread_create(&sweeper, NULL, monitor, NULL);
    pthread_join(worker, NULL);
    pthread_join(sweeper, NULL);
    printf("%d pages freed\n", freed);
    return 0;
}
