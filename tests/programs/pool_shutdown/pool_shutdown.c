// A pool of one worker. Jobs may queue other jobs.
//
// What is wrong: the worker stops as soon as it is asked to, with jobs still queued: shut_down() can come
// between a job's being queued and its being taken.
//
// expect kind: order-violation
// expect cause: pool.stopping = true;
// expect interference: bool stop = pool.stopping;
// expect also: while (pool.queued == 0 && !pool.stopping)

#include <assert.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>

enum { JOBS = 3 };

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int queued, done;
    bool stopping;
} pool = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static void submit(void)
{
    pthread_mutex_lock(&pool.lock);
    pool.queued++;
    pthread_cond_signal(&pool.changed);
    pthread_mutex_unlock(&pool.lock);
}

static void shut_down(void)
{
    pthread_mutex_lock(&pool.lock);
    pool.stopping = true;
    pthread_cond_broadcast(&pool.changed);
    pthread_mutex_unlock(&pool.lock);
}

static bool take(void)
{
    pthread_mutex_lock(&pool.lock);
    while (pool.queued == 0 && !pool.stopping)
        pthread_cond_wait(&pool.changed, &pool.lock);
    bool stop = pool.stopping;
    if (!stop)
        pool.queued--;
    pthread_mutex_unlock(&pool.lock);
    return !stop;
}

static void finish(void)
{
    pthread_mutex_lock(&pool.lock);
    pool.done++;
    pthread_mutex_unlock(&pool.lock);
}

static void *work(void *arg)
{
    while (take())
        finish();
    return arg;
}

int main(void)
{
    pthread_t worker;

    pthread_create(&worker, NULL, work, NULL);
    for (int i = 0; i < JOBS; i++)
        submit();
    shut_down();
    pthread_join(worker, NULL);

    printf("%d jobs done\n", pool.done);
    assert(pool.done == JOBS);
    return 0;
}
