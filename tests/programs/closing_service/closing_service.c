// A service that closes: requests ask whether it is closing and register then; the closer raises the flag and stops the
// service as soon as nobody is registered.
//
// What is wrong: a request asks and registers in two critical sections. When the flag is raised and the number of users is
// looked at in between, the request works on a service that has stopped. The check that fails reads `stopped`, which is not
// where the mistake is.
//
// expect kind: multi-variable-atomicity-violation
// expect cause 1: bool closing = service.closing;
// expect cause 2: service.users++;
// expect interference: service.closing = true;
// expect interference: if (service.users == 0)

#include <assert.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

static struct {
    pthread_mutex_t lock;
    bool closing;
    bool stopped;
    int users;
} service = {PTHREAD_MUTEX_INITIALIZER, false, false, 0};

static bool is_closing(void)
{
    pthread_mutex_lock(&service.lock);
    bool closing = service.closing;
    pthread_mutex_unlock(&service.lock);
    return closing;
}

static void enter(void)
{
    pthread_mutex_lock(&service.lock);
    service.users++;
    pthread_mutex_unlock(&service.lock);
}

static void leave(void)
{
    pthread_mutex_lock(&service.lock);
    service.users--;
    pthread_mutex_unlock(&service.lock);
}

static void *request(void *unused)
{
    (void)unused;
    if (!is_closing()) {
        enter();
        assert(!service.stopped);
        leave();
    }
    return NULL;
}

static bool try_to_stop(void)
{
    pthread_mutex_lock(&service.lock);
    if (service.users == 0)
        service.stopped = true;
    bool stopped = service.stopped;
    pthread_mutex_unlock(&service.lock);
    return stopped;
}

static void *closer(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&service.lock);
    service.closing = true;
    pthread_mutex_unlock(&service.lock);
    while (!try_to_stop()) {
    }
    return NULL;
}

int main(void)
{
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, request, NULL);
    pthread_create(&threads[1], NULL, closer, NULL);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    assert(service.users == 0);
    return 0;
}
