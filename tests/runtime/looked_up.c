// Functions that the program looks up by itself, by every handle and with a version: what they wait for
// is waited for as by the plain calls.
#define _GNU_SOURCE
#include <assert.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>

typedef int wait_function(pthread_cond_t *, pthread_mutex_t *);
typedef int wake_function(pthread_cond_t *);
typedef int mutex_function(pthread_mutex_t *);

static wait_function *cond_wait;
static wake_function *cond_broadcast;
static mutex_function *mutex_lock, *mutex_unlock;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static int ready;

static void *wait_until_ready(void *arg)
{
    mutex_lock(&mutex);
    while (!ready)
        cond_wait(&condition, &mutex);
    mutex_unlock(&mutex);
    return arg;
}

static void meet(void)
{
    pthread_t thread;
    ready = 0;
    pthread_create(&thread, NULL, wait_until_ready, NULL);
    mutex_lock(&mutex);
    ready = 1;
    cond_broadcast(&condition);
    mutex_unlock(&mutex);
    pthread_join(thread, NULL);
}

static void look_up_in(void *where)
{
    mutex_lock = (mutex_function *)dlsym(where, "pthread_mutex_lock");
    mutex_unlock = (mutex_function *)dlsym(where, "pthread_mutex_unlock");
    cond_wait = (wait_function *)dlsym(where, "pthread_cond_wait");
    cond_broadcast = (wake_function *)dlsym(where, "pthread_cond_broadcast");
    meet();
    cond_wait = (wait_function *)dlvsym(where, "pthread_cond_wait", "GLIBC_2.3.2");
    cond_broadcast = (wake_function *)dlvsym(where, "pthread_cond_broadcast", "GLIBC_2.3.2");
    meet();
}

int main(void)
{
    void *library = dlopen("libc.so.6", RTLD_NOW);
    assert(library);
    look_up_in(RTLD_DEFAULT);
    look_up_in(RTLD_NEXT);
    look_up_in(library);
    assert(!dlsym(RTLD_DEFAULT, "no_such_function") && strstr(dlerror(), "no_such_function"));
    assert(!dlvsym(library, "pthread_cond_wait", "GLIBC_1.0") && dlerror());
    assert(dlsym(RTLD_NEXT, "qsort") == dlsym(library, "qsort"));
    return 0;
}
