// Threads that are cancelled while they wait, each for something else: they end, and give back what they hold.
#define _GNU_SOURCE
#include <assert.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static sem_t units;
static int jobs;

static void give_back(void *held)
{
    pthread_mutex_unlock(held);
}

static void *waits_for_jobs(void *argument)
{
    for (;;) {
        pthread_mutex_lock(&lock);
        pthread_cleanup_push(give_back, &lock);
        while (jobs == 0)
            pthread_cond_wait(&changed, &lock);
        jobs--;
        pthread_cleanup_pop(1);
    }
    return argument;
}

static void *takes_units(void *argument)
{
    for (;;)
        while (sem_wait(&units) != 0) { }
    return argument;
}

static void *sleeps(void *argument)
{
    for (;;)
        usleep(1000);
    return argument;
}

static void *polls(void *argument)
{
    for (;;)
        poll(NULL, 0, 5);
    return argument;
}

static void *joins(void *other)
{
    pthread_join(*(pthread_t *)other, NULL);
    return NULL;
}

static void is_cancelled(pthread_t thread)
{
    void *result;
    pthread_cancel(thread);
    pthread_join(thread, &result);
    assert(result == PTHREAD_CANCELED);
}

int main(void)
{
    void *(*const begin[])(void *) = { waits_for_jobs, takes_units, sleeps, polls };
    pthread_t waiting[4], sleeper, joiner;
    sem_init(&units, 0, 0);
    for (int i = 0; i < 4; i++)
        pthread_create(&waiting[i], NULL, begin[i], NULL);
    pthread_mutex_lock(&lock);
    jobs = 2;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    sem_post(&units);
    for (int i = 0; i < 4; i++)
        is_cancelled(waiting[i]);
    pthread_create(&sleeper, NULL, sleeps, NULL);
    pthread_create(&joiner, NULL, joins, &sleeper);
    is_cancelled(joiner);
    is_cancelled(sleeper);
    // Whoever was cancelled has given the lock back.
    pthread_mutex_lock(&lock);
    printf("%d\n", jobs);
    pthread_mutex_unlock(&lock);
    return 0;
}
