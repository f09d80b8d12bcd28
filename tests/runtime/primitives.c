// Every synchronization primitive of POSIX threads, with the answers that each has to give. Passes in
// every order; a wrong answer of the runtime fails an assertion or leaves the run stuck.
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { WORKERS = 3 };

static pthread_mutex_t plain = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t recursive, checking;
static pthread_rwlock_t table_lock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_spinlock_t spin;
static pthread_barrier_t barrier;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static pthread_key_t key;
static sem_t finished;

static int initialized, recursive_count, table, spin_count, plain_count;
static int ready, destroyed, cleaned_up, last_reader;

static void initialize(void) { initialized++; }

static void destroy_value(void *value)
{
    pthread_mutex_lock(&plain);
    destroyed++;
    pthread_mutex_unlock(&plain);
    free(value);
}

static void use_mutexes(void)
{
    pthread_mutex_lock(&recursive);
    pthread_mutex_lock(&recursive);
    recursive_count++;
    pthread_mutex_unlock(&recursive);
    assert(pthread_mutex_trylock(&recursive) == 0);
    pthread_mutex_unlock(&recursive);
    pthread_mutex_unlock(&recursive);

    pthread_mutex_lock(&checking);
    assert(pthread_mutex_lock(&checking) == EDEADLK);
    pthread_mutex_unlock(&checking);
    assert(pthread_mutex_unlock(&checking) == EPERM);

    while (pthread_mutex_trylock(&plain) != 0)
        sched_yield();
    plain_count++;
    pthread_mutex_unlock(&plain);
}

static void use_read_write_lock(void)
{
    pthread_rwlock_wrlock(&table_lock);
    assert(pthread_rwlock_wrlock(&table_lock) == EDEADLK);
    assert(pthread_rwlock_rdlock(&table_lock) == EDEADLK);
    table++;
    pthread_rwlock_unlock(&table_lock);

    pthread_rwlock_rdlock(&table_lock);
    assert(table > 0);
    pthread_rwlock_unlock(&table_lock);

    if (pthread_rwlock_trywrlock(&table_lock) == 0) {
        last_reader = table;
        pthread_rwlock_unlock(&table_lock);
    }
}

static void *work(void *arg)
{
    long number = (long)arg;
    pthread_once(&once, initialize);
    pthread_setspecific(key, malloc(8));
    use_mutexes();
    use_read_write_lock();

    pthread_spin_lock(&spin);
    spin_count++;
    pthread_spin_unlock(&spin);

    int serial = pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD;
    assert(table == WORKERS && spin_count == WORKERS);
    serial += pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD;
    assert(serial <= 2);

    sem_post(&finished);
    if (number == 1)
        pthread_exit((void *)7);
    return (void *)number;
}

static void clean_up(void *lock)
{
    cleaned_up++;
    pthread_mutex_unlock(lock);
}

static void *wait_for_ever(void *arg)
{
    pthread_mutex_lock(&plain);
    pthread_cleanup_push(clean_up, &plain);
    for (;;)
        pthread_cond_wait(&changed, &plain);
    pthread_cleanup_pop(0);
    return arg;
}

static void *announce(void *arg)
{
    usleep(1000);
    pthread_mutex_lock(&plain);
    ready = 1;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&plain);
    return arg;
}

static void set_up(void)
{
    pthread_mutexattr_t kind;
    pthread_mutexattr_init(&kind);
    pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&recursive, &kind);
    pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_ERRORCHECK);
    pthread_mutex_init(&checking, &kind);
    pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE);
    pthread_barrier_init(&barrier, NULL, WORKERS);
    pthread_key_create(&key, destroy_value);
    sem_init(&finished, 0, 0);
}

static void run_workers(void)
{
    pthread_t workers[WORKERS];
    for (long i = 0; i < WORKERS; i++)
        pthread_create(&workers[i], NULL, work, (void *)i);
    for (int i = 0; i < WORKERS; i++)
        sem_wait(&finished);
    assert(sem_trywait(&finished) == -1 && errno == EAGAIN);
    for (long i = 0; i < WORKERS; i++) {
        void *result;
        pthread_join(workers[i], &result);
        assert((long)result == (i == 1 ? 7 : i));
    }
    assert(initialized == 1 && destroyed == WORKERS);
    assert(recursive_count == WORKERS && plain_count == WORKERS);
}

static struct timespec in_seconds(int seconds)
{
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    time.tv_sec += seconds;
    return time;
}

static void wait_with_a_limit(void)
{
    pthread_t announcer;
    pthread_create(&announcer, NULL, announce, NULL);
    struct timespec limit = in_seconds(5);
    int status = 0;
    pthread_mutex_lock(&plain);
    while (!ready && status == 0)
        status = pthread_cond_timedwait(&changed, &plain, &limit);
    assert(ready && status == 0);
    limit = in_seconds(3600);
    do
        status = pthread_cond_timedwait(&changed, &plain, &limit);
    while (status == 0);
    assert(status == ETIMEDOUT);
    pthread_mutex_unlock(&plain);
    pthread_join(announcer, NULL);
    limit = in_seconds(3600);
    assert(sem_timedwait(&finished, &limit) == -1 && errno == ETIMEDOUT);
}

static void cancel_a_waiter(void)
{
    pthread_t waiter;
    void *result;
    pthread_create(&waiter, NULL, wait_for_ever, NULL);
    pthread_cancel(waiter);
    pthread_join(waiter, &result);
    assert(result == PTHREAD_CANCELED && cleaned_up <= 1);
    pthread_mutex_lock(&plain);
    pthread_mutex_unlock(&plain);
}

int main(void)
{
    set_up();
    run_workers();
    wait_with_a_limit();
    cancel_a_waiter();
    puts("every answer was right");
    return 0;
}
