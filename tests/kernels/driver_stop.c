// A driver that is stopped once nobody uses it any more: users are counted, with one for the driver itself.
//
// What is wrong: a user looks whether the driver is being stopped, and is counted afterwards. In between the
// driver may be stopped.
//
// After the model of a Bluetooth driver of Windows (KISS, PLDI 2004).
//
// expect kind: atomicity-violation multi-variable-atomicity-violation
// expect cause: if (is_stopping)
// expect cause: users++;
// expect cause: assert(!is_stopped);
// expect interference: is_stopping = true;
// expect interference: if (--users == 0)
// expect interference: is_stopped = true;

#include <assert.h>
#include <pthread.h>
#include <stdbool.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int users = 1;
static bool is_stopping;
static bool is_idle;
static bool is_stopped;

static void leave(void)
{
    pthread_mutex_lock(&lock);
    if (--users == 0)
        is_idle = true;
    pthread_mutex_unlock(&lock);
}

static bool enter(void)
{
    if (is_stopping)
        return false;
    pthread_mutex_lock(&lock);
    users++;
    pthread_mutex_unlock(&lock);
    return true;
}

static void *use(void *arg)
{
    if (enter()) {
        assert(!is_stopped);
        leave();
    }
    return arg;
}

static void *stop(void *arg)
{
    is_stopping = true;
    leave();
    if (is_idle)
        is_stopped = true;
    return arg;
}

int main(void)
{
    pthread_t threads[2];

    pthread_create(&threads[0], NULL, use, NULL);
    pthread_create(&threads[1], NULL, stop, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
