// A listener that hands connections to idle workers: it takes a worker from the count of the idle ones
// and puts the connection into a queue with as many places as there are workers.
//
// What is wrong: a worker says that it is idle before it has taken its connection out of the queue, so
// the count and the queue don't fit together for a moment, and the listener finds the queue full.
//
// After a bug of the Apache web server's event module.
//
// expect kind: order-violation
// expect cause: assert(queued < WORKERS);
// expect interference: int connection = queue[--queued];
// expect also: idle++;
// expect also: idle--;
// expect also: while (idle == 0)

#include <assert.h>
#include <pthread.h>
#include <stdio.h>

enum { WORKERS = 1, CONNECTIONS = 2 };

static pthread_mutex_t idle_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t one_idle = PTHREAD_COND_INITIALIZER;
static int idle;

static pthread_mutex_t queue_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t one_queued = PTHREAD_COND_INITIALIZER;
static int queue[WORKERS];
static int queued;

static void say_idle(void)
{
    pthread_mutex_lock(&idle_lock);
    idle++;
    pthread_cond_signal(&one_idle);
    pthread_mutex_unlock(&idle_lock);
}

static void wait_for_idle(void)
{
    pthread_mutex_lock(&idle_lock);
    while (idle == 0)
        pthread_cond_wait(&one_idle, &idle_lock);
    idle--;
    pthread_mutex_unlock(&idle_lock);
}

static void push(int connection)
{
    pthread_mutex_lock(&queue_lock);
    assert(queued < WORKERS);
    queue[queued++] = connection;
    pthread_cond_signal(&one_queued);
    pthread_mutex_unlock(&queue_lock);
}

static int pop(void)
{
    pthread_mutex_lock(&queue_lock);
    while (queued == 0)
        pthread_cond_wait(&one_queued, &queue_lock);
    int connection = queue[--queued];
    pthread_mutex_unlock(&queue_lock);
    return connection;
}

static void *work(void *arg)
{
    say_idle();
    for (int i = 0; i < CONNECTIONS; i++) {
        if (i + 1 < CONNECTIONS)
            say_idle();
        printf("connection %d\n", pop());
    }
    return arg;
}

static void *listen_on(void *arg)
{
    for (int i = 0; i < CONNECTIONS; i++) {
        wait_for_idle();
        push(i);
    }
    return arg;
}

int main(void)
{
    pthread_t worker, listener;

    pthread_create(&worker, NULL, work, NULL);
    pthread_create(&listener, NULL, listen_on, NULL);
    pthread_join(worker, NULL);
    pthread_join(listener, NULL);
    return 0;
}
