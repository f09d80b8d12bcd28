// Locks that are unlocked by a thread that does not hold them.
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t shared = PTHREAD_RWLOCK_INITIALIZER;
static pthread_spinlock_t spin;
static const char *how;

static void *unlocks(void *argument)
{
    (void)argument;
    if (!strcmp(how, "foreign"))
        pthread_mutex_unlock(&lock);
    return NULL;
}

static void checked(int type)
{
    pthread_mutexattr_t attributes;
    pthread_mutex_t mutex;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, type);
    pthread_mutex_init(&mutex, &attributes);
    assert(pthread_mutex_unlock(&mutex) == EPERM);
    assert(pthread_mutex_lock(&mutex) == 0 && pthread_mutex_unlock(&mutex) == 0);
    assert(pthread_mutex_unlock(&mutex) == EPERM);
}

int main(int count, char **words)
{
    pthread_t thread;
    (void)count;
    how = words[1];
    pthread_spin_init(&spin, 0);
    pthread_mutex_lock(&lock);
    pthread_create(&thread, NULL, unlocks, NULL);
    pthread_join(thread, NULL);
    pthread_mutex_unlock(&lock);
    if (!strcmp(how, "free"))
        pthread_mutex_unlock(&lock);
    if (!strcmp(how, "spin"))
        pthread_spin_unlock(&spin);
    if (!strcmp(how, "shared"))
        pthread_rwlock_unlock(&shared);
    checked(PTHREAD_MUTEX_ERRORCHECK);
    checked(PTHREAD_MUTEX_RECURSIVE);
    return 0;
}
