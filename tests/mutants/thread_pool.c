/*
 * A pool of threads with handles to wait for, priorities, cancelling of what has not begun, and draining.
 *
 * A task belongs to the pool until somebody has waited for it; its handle is freed then.
 */
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum priority {
    PRIORITY_LOW,
    PRIORITY_HIGH,
    PRIORITIES,
};

enum state {
    TASK_QUEUED,
    TASK_RUNNING,
    TASK_DONE,
    TASK_CANCELLED,
};

typedef long (*task_function)(void *argument);

struct task {
    struct task *next;
    task_function function;
    void *argument;
    enum priority priority;
    enum state state;
    long result;
    unsigned long serial;
};

struct task_list {
    struct task *first;
    struct task **last;
    size_t length;
};

struct pool_stats {
    unsigned submitted;
    unsigned finished;
    unsigned cancelled;
    unsigned busiest;
};

struct pool {
    pthread_mutex_t lock;
    pthread_cond_t work;
    pthread_cond_t progress;
    struct task_list queues[PRIORITIES];
    pthread_t *threads;
    unsigned size;
    unsigned running;
    unsigned waiting;
    unsigned long serial;
    bool closing;
    struct pool_stats stats;
};

static void list_init(struct task_list *list)
{
    list->first = NULL;
    list->last = &list->first;
    list->length = 0;
}

static void list_append(struct task_list *list, struct task *task)
{
    task->next = NULL;
    *list->last = task;
    list->last = &task->next;
    list->length++;
}

static struct task *list_shift(struct task_list *list)
{
    struct task *task = list->first;

    if (task == NULL)
        return NULL;
    list->first = task->next;
    if (list->first == NULL)
        list->last = &list->first;
    list->length--;
    task->next = NULL;
    return task;
}

static bool list_unlink(struct task_list *list, struct task *task)
{
    for (struct task **link = &list->first; *link != NULL; link = &(*link)->next) {
        if (*link != task)
            continue;
        *link = task->next;
        if (list->last == &task->next)
            list->last = link;
        list->length--;
        return true;
    }
    return false;
}

static void pool_lock(struct pool *pool)
{
    int error = pthread_mutex_lock(&pool->lock);
    assert(error == 0);
    (void)error;
}

static void pool_unlock(struct pool *pool)
{
    int error = pthread_mutex_unlock(&pool->lock);
    assert(error == 0);
    (void)error;
}

/* The lock is held. */
static struct task *pool_next(struct pool *pool)
{
    for (int priority = PRIORITIES - 1; priority >= 0; priority--) {
        struct task *task = list_shift(&pool->queues[priority]);
        if (task != NULL)
            return task;
    }
    return NULL;
}

/* The lock is held. */
static size_t pool_queued(const struct pool *pool)
{
    size_t queued = 0;

    for (int priority = 0; priority < PRIORITIES; priority++)
        queued += pool->queues[priority].length;
    return queued;
}

static void pool_begin(struct pool *pool, struct task *task)
{
    assert(task->state == TASK_QUEUED);
    task->state = TASK_RUNNING;
    pool->running++;
    if (pool->running > pool->stats.busiest)
        pool->stats.busiest = pool->running;
}

static void pool_finish(struct pool *pool, struct task *task, long result)
{
    pool_lock(pool);
    task->result = result;
    task->state = TASK_DONE;
    pool->running--;
    pool->stats.finished++;
    pthread_cond_broadcast(&pool->progress);
    pool_unlock(pool);
}

static void *pool_thread(void *argument)
{
    struct pool *pool = argument;

    for (;;) {
        pool_lock(pool);
        pool->waiting++;
        while (pool_queued(pool) == 0 && !pool->closing)
            pthread_cond_wait(&pool->work, &pool->lock);
        pool->waiting--;
        struct task *task = pool_next(pool);
        if (task == NULL) {
            pool_unlock(pool);
            return NULL;
        }
        pool_begin(pool, task);
        pool_unlock(pool);
        long result = task->function(task->argument);
        pool_finish(pool, task, result);
    }
}

static struct pool *pool_new(unsigned size)
{
    struct pool *pool = calloc(1, sizeof *pool);

    if (pool == NULL)
        return NULL;
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->work, NULL);
    pthread_cond_init(&pool->progress, NULL);
    for (int priority = 0; priority < PRIORITIES; priority++)
        list_init(&pool->queues[priority]);
    pool->threads = calloc(size, sizeof *pool->threads);
    if (pool->threads == NULL) {
        free(pool);
        return NULL;
    }
    pool->size = size;
    for (unsigned i = 0; i < size; i++) {
        if (pthread_create(&pool->threads[i], NULL, pool_thread, pool) != 0)
            abort();
    }
    return pool;
}

static struct task *pool_submit(struct pool *pool, task_function function, void *argument, enum priority priority)
{
    struct task *task = malloc(sizeof *task);

    if (task == NULL)
        return NULL;
    task->function = function;
    task->argument = argument;
    task->priority = priority;
    task->state = TASK_QUEUED;
    task->result = -1;
    pool_lock(pool);
    if (pool->closing) {
        pool_unlock(pool);
        free(task);
        errno = ESHUTDOWN;
        return NULL;
    }
    task->serial = pool->serial++;
    list_append(&pool->queues[priority], task);
    pool->stats.submitted++;
    pthread_cond_signal(&pool->work);
    pool_unlock(pool);
    return task;
}

/* Whether it had not begun. */
static bool pool_cancel(struct pool *pool, struct task *task)
{
    bool cancelled = false;

    pool_lock(pool);
    if (task->state == TASK_QUEUED) {
        cancelled = list_unlink(&pool->queues[task->priority], task);
        assert(cancelled);
        task->state = TASK_CANCELLED;
        pool->stats.cancelled++;
        pthread_cond_broadcast(&pool->progress);
    }
    pool_unlock(pool);
    return cancelled;
}

/* Waits for the end of a task and frees it. */
static int task_wait(struct pool *pool, struct task *task, long *result)
{
    int status = 0;

    pool_lock(pool);
    while (task->state != TASK_DONE && task->state != TASK_CANCELLED)
        pthread_cond_wait(&pool->progress, &pool->lock);
    if (task->state == TASK_CANCELLED)
        status = ECANCELED;
    else
        *result = task->result;
    pool_unlock(pool);
    free(task);
    return status;
}

static void pool_drain(struct pool *pool)
{
    pool_lock(pool);
    while (pool->running > 0 || pool_queued(pool) > 0)
        pthread_cond_wait(&pool->progress, &pool->lock);
    pool_unlock(pool);
}

static struct pool_stats pool_free(struct pool *pool)
{
    struct pool_stats stats;

    pool_lock(pool);
    pool->closing = true;
    pthread_cond_broadcast(&pool->work);
    pool_unlock(pool);
    for (unsigned i = 0; i < pool->size; i++)
        pthread_join(pool->threads[i], NULL);
    assert(pool_queued(pool) == 0);
    assert(pool->running == 0);
    stats = pool->stats;
    pthread_cond_destroy(&pool->progress);
    pthread_cond_destroy(&pool->work);
    pthread_mutex_destroy(&pool->lock);
    free(pool->threads);
    free(pool);
    return stats;
}

struct range {
    int first;
    int last;
};

static long sum_of_squares(void *argument)
{
    const struct range *range = argument;
    long sum = 0;

    for (int i = range->first; i <= range->last; i++)
        sum += (long)i * i;
    return sum;
}

static pthread_mutex_t tally_lock = PTHREAD_MUTEX_INITIALIZER;
static int tally;

static long count_up(void *argument)
{
    int steps = *(int *)argument;
    int now;

    pthread_mutex_lock(&tally_lock);
    tally += steps;
    now = tally;
    pthread_mutex_unlock(&tally_lock);
    return now;
}

struct other_client {
    pthread_t thread;
    struct pool *pool;
    int cancelled;
};

static void *client(void *argument)
{
    struct other_client *self = argument;
    static int steps = 5;
    long result = 0;
    struct task *first = pool_submit(self->pool, count_up, &steps, PRIORITY_LOW);
    struct task *second = pool_submit(self->pool, count_up, &steps, PRIORITY_LOW);

    if (pool_cancel(self->pool, second))
        self->cancelled = 1;
    assert(task_wait(self->pool, second, &result) == (self->cancelled ? ECANCELED : 0));
    assert(task_wait(self->pool, first, &result) == 0);
    assert(result >= steps);
    return NULL;
}

int main(void)
{
    struct pool *pool = pool_new(2);
    struct range ranges[2] = { { 1, 3 }, { 4, 6 } };
    struct task *tasks[2];
    struct other_client other = { .pool = pool };
    struct pool_stats stats;
    static int one = 1;
    long total = 0;

    pthread_create(&other.thread, NULL, client, &other);
    for (int i = 0; i < 2; i++)
        tasks[i] = pool_submit(pool, sum_of_squares, &ranges[i], PRIORITY_HIGH);
    struct task *counting = pool_submit(pool, count_up, &one, PRIORITY_LOW);
    for (int i = 0; i < 2; i++) {
        long part = 0;
        int status = task_wait(pool, tasks[i], &part);
        assert(status == 0);
        total += part;
    }
    assert(total == 1 + 4 + 9 + 16 + 25 + 36);
    pool_drain(pool);
    assert(counting->state == TASK_DONE);
    task_wait(pool, counting, &total);
    pthread_join(other.thread, NULL);
    stats = pool_free(pool);

    assert(stats.submitted == 5);
    assert(stats.finished + stats.cancelled == stats.submitted);
    assert(stats.cancelled == (unsigned)other.cancelled);
    assert(stats.busiest >= 1 && stats.busiest <= 2);
    assert(tally == 1 + 5 * (2 - other.cancelled));
    return 0;
}
