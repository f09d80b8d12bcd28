// A thread that asks for its own state, which its creator notes.
//
// What is wrong: the creator notes the state after it has started the thread. As a rule that is early enough.
//
// After bug 61369 of Mozilla.
//
// expect kind: order-violation
// expect cause: seen = state;
// expect interference: state = RUNNING;

#include <assert.h>
#include <pthread.h>

enum { UNKNOWN, RUNNING };

static int state = UNKNOWN;
static int seen;

static void *run(void *arg)
{
    seen = state;
    return arg;
}

int main(void)
{
    pthread_t thread;

    pthread_create(&thread, NULL, run, NULL);
    state = RUNNING;
    pthread_join(thread, NULL);
    assert(seen == RUNNING);
    return 0;
}
