// Condition variables as programs use them that were linked long ago: the C library has a second,
// older form of each of these functions.
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

__asm__(".symver old_init, pthread_cond_init@GLIBC_2.2.5");
__asm__(".symver old_wait, pthread_cond_wait@GLIBC_2.2.5");
__asm__(".symver old_timedwait, pthread_cond_timedwait@GLIBC_2.2.5");
__asm__(".symver old_signal, pthread_cond_signal@GLIBC_2.2.5");
__asm__(".symver old_broadcast, pthread_cond_broadcast@GLIBC_2.2.5");
__asm__(".symver old_destroy, pthread_cond_destroy@GLIBC_2.2.5");
extern int old_init(pthread_cond_t *, const pthread_condattr_t *);
extern int old_wait(pthread_cond_t *, pthread_mutex_t *);
extern int old_timedwait(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);
extern int old_signal(pthread_cond_t *);
extern int old_broadcast(pthread_cond_t *);
extern int old_destroy(pthread_cond_t *);

enum { WAITERS = 2 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t *condition;
static int ready, gone;

static void *wait_until_ready(void *arg)
{
    pthread_mutex_lock(&mutex);
    while (!ready)
        old_wait(condition, &mutex);
    gone++;
    old_signal(condition);
    pthread_mutex_unlock(&mutex);
    return arg;
}

static void let_time_run_out(void)
{
    struct timespec past = {1, 0};
    while (old_timedwait(condition, &mutex, &past) != ETIMEDOUT)
        ;
}

int main(void)
{
    pthread_t threads[WAITERS];
    condition = malloc(sizeof *condition);
    memset(condition, 0xff, sizeof *condition);
    assert(old_init(condition, NULL) == 0);
    for (int i = 0; i < WAITERS; i++)
        pthread_create(&threads[i], NULL, wait_until_ready, NULL);
    pthread_mutex_lock(&mutex);
    let_time_run_out();
    ready = 1;
    old_broadcast(condition);
    while (gone < WAITERS)
        old_wait(condition, &mutex);
    pthread_mutex_unlock(&mutex);
    for (int i = 0; i < WAITERS; i++)
        pthread_join(threads[i], NULL);
    assert(old_destroy(condition) == 0);
    free(condition);
    return 0;
}
