// A farm that builds packages, with spin locks of its own: a reaper queues again what was lost on a machine.
//
// What is wrong: the reaper asks for the result first and whether the build runs last. A build that ends in between
// has no result yet when it is asked for one and does not run any more, so that it counts as lost.
//
// After a class of bugs of PostgreSQL, a database server: whether a transaction runs has to be asked before whether
// it has committed.
//
// expect kind: multi-variable-atomicity-violation
// expect cause 1: int done = results[build];
// expect cause 2: int runs = running[build];
// expect interference: results[build] = result;
// expect interference: running[build] = 0;

#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

enum { BUILDS = 4 };

struct spin { atomic_int word; };

static struct spin list_lock, results_lock, running_lock;
static int listed;
static int results[BUILDS];
static int running[BUILDS];
static int lost[BUILDS];

static void spin_take(struct spin *spin)
{
    while (atomic_exchange(&spin->word, 1) != 0)
        sched_yield();
}

static void spin_give(struct spin *spin)
{
    atomic_store(&spin->word, 0);
}

static void start(int build)
{
    spin_take(&running_lock);
    running[build] = 1;
    spin_give(&running_lock);
    spin_take(&list_lock);
    listed = build + 1;
    spin_give(&list_lock);
}

static void finish(int build, int result)
{
    spin_take(&results_lock);
    results[build] = result;
    spin_give(&results_lock);
    spin_take(&running_lock);
    running[build] = 0;
    spin_give(&running_lock);
}

static int has_result(int build)
{
    spin_take(&results_lock);
    int done = results[build];
    spin_give(&results_lock);
    return done != 0;
}

static int is_running(int build)
{
    spin_take(&running_lock);
    int runs = running[build];
    spin_give(&running_lock);
    return runs;
}

// The list is kept as it is meanwhile.
static void *reap(void *arg)
{
    for (int round = 0; round < 2; round++) {
        spin_take(&list_lock);
        for (int build = 0; build < listed; build++)
            if (!has_result(build) && !is_running(build))
                lost[build] = 1;
        spin_give(&list_lock);
    }
    return arg;
}

static void *machine(void *arg)
{
    for (int build = 0; build < BUILDS - 1; build++)
        finish(build, 1);
    return arg;
}

// Starts one that fails: that is a result as well.
static void *other_machine(void *arg)
{
    start(BUILDS - 1);
    finish(BUILDS - 1, 2);
    return arg;
}

int main(void)
{
    pthread_t threads[3];
    for (int build = 0; build < BUILDS - 1; build++)
        start(build);
    pthread_create(&threads[0], NULL, machine, NULL);
    pthread_create(&threads[1], NULL, other_machine, NULL);
    pthread_create(&threads[2], NULL, reap, NULL);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    int queued_again = 0;
    for (int build = 0; build < BUILDS; build++)
        queued_again += lost[build];
    assert(queued_again == 0);
    return 0;
}
