// Asynchronous cancellation: a thread that never comes to a cancellation point is ended all the same.
#define _GNU_SOURCE
#include <assert.h>
#include <pthread.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long work;
static int is_ready, is_allowed, cleaned;
static const char *how;

static void clean(void *argument)
{
    (void)argument;
    cleaned++;
}

static void *works(void *argument)
{
    (void)argument;
    if (!strcmp(how, "disabled"))
        pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
    pthread_cleanup_push(clean, NULL);
    __atomic_store_n(&is_ready, 1, __ATOMIC_SEQ_CST);
    if (!strcmp(how, "lock"))
        pthread_mutex_lock(&lock);
    while (!__atomic_load_n(&is_allowed, __ATOMIC_SEQ_CST))
        work++;
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
    for (;;)
        work++;
    pthread_cleanup_pop(1);
    return NULL;
}

static void *becomes_asynchronous(void *argument)
{
    (void)argument;
    pthread_cleanup_push(clean, NULL);
    while (!__atomic_load_n(&is_allowed, __ATOMIC_SEQ_CST))
        work++;
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
    for (;;)
        work++;
    pthread_cleanup_pop(1);
    return NULL;
}

int main(int count, char **words)
{
    pthread_t thread;
    void *result = NULL;
    (void)count;
    how = words[1];
    int is_late = !strcmp(how, "late");
    pthread_mutex_lock(&lock);
    pthread_create(&thread, NULL, is_late ? becomes_asynchronous : works, NULL);
    while (!is_late && !__atomic_load_n(&is_ready, __ATOMIC_SEQ_CST))
        ;
    pthread_cancel(thread);
    if (is_late || !strcmp(how, "disabled"))
        __atomic_store_n(&is_allowed, 1, __ATOMIC_SEQ_CST);
    pthread_join(thread, &result);
    pthread_mutex_unlock(&lock);
    // Where cancellation was disabled, some C libraries lose the result.
    assert(cleaned == 1 && (!strcmp(how, "disabled") || result == PTHREAD_CANCELED));
    return 0;
}
