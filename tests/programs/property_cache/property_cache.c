// A script engine's cache of properties with a flag that says whether anything is in it, so that a
// flush of an empty cache costs nothing.
//
// What is wrong: filling sets an entry and then the flag, a flush looks at the flag, clears the entries
// and then the flag, all without one lock around. An entry that is filled during a flush stays while
// the flag says that the cache is empty.
//
// After a bug of Mozilla's script engine (its property cache).
//
// expect kind: multi-variable-atomicity-violation
// expect cause 1: table[i] = 0;
// expect cause 2: filled = false;
// expect interference: table[slot] = value;
// expect interference: filled = true;
// expect also: if (!filled)
//
// With optimization the compiler sets `filled` once, after both entries.
//
// without the bug: gcc -O1, gcc -O2, clang -O2

#include <assert.h>
#include <pthread.h>
#include <stdbool.h>

enum { ENTRIES = 4 };

static int table[ENTRIES];
static bool filled;

static void fill(int slot, int value)
{
    table[slot] = value;
    filled = true;
}

static void flush(void)
{
    if (!filled)
        return;
    for (int i = 0; i < ENTRIES; i++)
        table[i] = 0;
    filled = false;
}

static void *interpret(void *arg)
{
    fill(0, 7);
    fill(2, 9);
    return arg;
}

static void *collect_garbage(void *arg)
{
    flush();
    return arg;
}

int main(void)
{
    pthread_t script, collector;

    pthread_create(&script, NULL, interpret, NULL);
    pthread_create(&collector, NULL, collect_garbage, NULL);
    pthread_join(script, NULL);
    pthread_join(collector, NULL);

    bool found = false;
    for (int i = 0; i < ENTRIES; i++)
        found = found || table[i] != 0;
    assert(filled || !found);
    return 0;
}
