// A device that one process at a time may open.
//
// What is wrong: whether it is busy is looked at and noted in two steps. Two processes may open it.
//
// After a bug of the industrial I/O drivers of Linux (linux-iio).
//
// expect kind: atomicity-violation
// expect cause: if (device.is_busy)
// expect cause: device.is_busy = true;
// expect interference: device.is_busy = true;

#include <assert.h>
#include <pthread.h>
#include <stdbool.h>

static struct {
    pthread_mutex_t lock;
    bool is_busy;
    int users;
} device = {.lock = PTHREAD_MUTEX_INITIALIZER};

static bool open_device(void)
{
    if (device.is_busy)
        return false;
    device.is_busy = true;

    pthread_mutex_lock(&device.lock);
    device.users++;
    pthread_mutex_unlock(&device.lock);
    return true;
}

static void *process(void *arg)
{
    open_device();
    return arg;
}

int main(void)
{
    pthread_t threads[2];

    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, process, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    assert(device.users <= 1);
    return 0;
}
