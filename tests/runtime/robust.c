// Robust mutexes, whose owners end with them. The argument says how the next one takes it.
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

static pthread_mutex_t lock;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int value, told;

static void *ends_with_it(void *argument)
{
    (void)argument;
    int status = pthread_mutex_lock(&lock);
    if (status == EOWNERDEAD)
        pthread_mutex_consistent(&lock);
    value = 1;
    pthread_cond_broadcast(&changed);
    return NULL;
}

static void *recovers(void *argument)
{
    (void)argument;
    int status = pthread_mutex_lock(&lock);
    if (status == EOWNERDEAD) {
        __atomic_fetch_add(&told, 1, __ATOMIC_SEQ_CST);
        assert(pthread_mutex_consistent(&lock) == 0);
        value = 0;
    } else {
        assert(status == 0);
    }
    assert(pthread_mutex_unlock(&lock) == 0);
    return NULL;
}

static void one_after_the_other(void)
{
    pthread_t threads[3];
    pthread_create(&threads[0], NULL, ends_with_it, NULL);
    for (int i = 1; i < 3; i++)
        pthread_create(&threads[i], NULL, recovers, NULL);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    // Either one of them has learned it, or the next one does.
    int status = pthread_mutex_lock(&lock);
    assert(status == (told ? 0 : EOWNERDEAD) && told <= 1);
    if (status)
        assert(pthread_mutex_consistent(&lock) == 0);
    assert(pthread_mutex_consistent(&lock) == EINVAL);
    assert(pthread_mutex_unlock(&lock) == 0);
    assert(pthread_mutex_unlock(&lock) == EPERM);
}

static void not_recoverable(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, ends_with_it, NULL);
    pthread_join(thread, NULL);
    assert(pthread_mutex_trylock(&lock) == EOWNERDEAD);
    assert(pthread_mutex_unlock(&lock) == 0);
    assert(pthread_mutex_lock(&lock) == ENOTRECOVERABLE);
    assert(pthread_mutex_trylock(&lock) == ENOTRECOVERABLE);
    assert(pthread_mutex_destroy(&lock) == 0);
}

static void waits(void)
{
    pthread_t thread;
    assert(pthread_mutex_lock(&lock) == 0);
    pthread_create(&thread, NULL, ends_with_it, NULL);
    int status = 0;
    while (!value && !status)
        status = pthread_cond_wait(&changed, &lock);
    assert(status == EOWNERDEAD && value == 1);
    assert(pthread_mutex_consistent(&lock) == 0);
    assert(pthread_mutex_unlock(&lock) == 0);
    pthread_join(thread, NULL);
}

static void main_ends_with_two(void)
{
    struct timespec until = {1, 0};
    pthread_mutex_t other;
    pthread_mutexattr_t attributes;
    pthread_t thread;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&other, &attributes);
    assert(pthread_mutex_lock(&other) == 0 && pthread_mutex_lock(&other) == 0);
    pthread_create(&thread, NULL, ends_with_it, NULL);
    pthread_join(thread, NULL);
    assert(pthread_mutex_timedlock(&lock, &until) == EOWNERDEAD);
    assert(pthread_mutex_consistent(&lock) == 0);
    assert(pthread_mutex_unlock(&other) == 0 && pthread_mutex_unlock(&other) == 0);
    assert(pthread_mutex_unlock(&lock) == 0);
}

int main(int count, char **words)
{
    pthread_mutexattr_t attributes;
    (void)count;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&lock, &attributes);
    if (!strcmp(words[1], "one_after_the_other"))
        one_after_the_other();
    if (!strcmp(words[1], "not_recoverable"))
        not_recoverable();
    if (!strcmp(words[1], "waits"))
        waits();
    if (!strcmp(words[1], "two"))
        main_ends_with_two();
    return 0;
}
