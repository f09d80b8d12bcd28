// Each function of GLib's queues between threads.
//
// expect no failure

#include <assert.h>
#include <glib.h>

enum { ITEMS = 2 };

static GAsyncQueue *jobs, *done;

static gint by_value(gconstpointer a, gconstpointer b, gpointer unused)
{
    (void)unused;
    return GPOINTER_TO_INT(a) - GPOINTER_TO_INT(b);
}

static gpointer work(gpointer unused)
{
    (void)unused;
    for (int i = 0; i < ITEMS; i++) {
        gpointer job = g_async_queue_pop(jobs);
        g_async_queue_lock(done);
        g_async_queue_push_unlocked(done, job);
        g_async_queue_unlock(done);
    }
    return NULL;
}

/* What one thread does with a queue is what the library says. */
static void alone(void)
{
    GAsyncQueue *queue = g_async_queue_new();
    assert(!g_async_queue_try_pop(queue));
    gint64 begin = g_get_monotonic_time();
    assert(!g_async_queue_timeout_pop(queue, 1000));
    assert(g_get_monotonic_time() >= begin + 1000);
    g_async_queue_push_sorted(queue, GINT_TO_POINTER(2), by_value, NULL);
    g_async_queue_push_sorted(queue, GINT_TO_POINTER(1), by_value, NULL);
    g_async_queue_push_front(queue, GINT_TO_POINTER(3));
    assert(g_async_queue_length(queue) == 3);
    assert(g_async_queue_timeout_pop(queue, 1000) == GINT_TO_POINTER(3));
    g_async_queue_lock(queue);
    g_async_queue_sort_unlocked(queue, by_value, NULL);
    assert(g_async_queue_length_unlocked(queue) == 2);
    assert(g_async_queue_remove_unlocked(queue, GINT_TO_POINTER(1)));
    assert(g_async_queue_pop_unlocked(queue) == GINT_TO_POINTER(2));
    assert(!g_async_queue_timeout_pop_unlocked(queue, 1000));
    g_async_queue_unlock(queue);
    g_async_queue_unref(queue);
}

/* Threads that wait are missing items. */
static void between(void)
{
    GThread *workers[2];
    for (int i = 0; i < 2; i++)
        workers[i] = g_thread_new("worker", work, NULL);
    for (int i = 0; i < 2 * ITEMS; i++) {
        int length = g_async_queue_length(jobs);
        assert(-2 <= length && length <= i);
        g_async_queue_push(jobs, GINT_TO_POINTER(i + 1));
    }
    int sum = 0;
    for (int i = 0; i < 2 * ITEMS; i++)
        sum += GPOINTER_TO_INT(g_async_queue_pop(done));
    for (int i = 0; i < 2; i++)
        g_thread_join(workers[i]);
    assert(sum == 10);
}

int main(void)
{
    jobs = g_async_queue_new();
    done = g_async_queue_new();
    alone();
    between();
    assert(g_async_queue_length(jobs) == 0 && g_async_queue_length(done) == 0);
    g_async_queue_unref(jobs);
    g_async_queue_unref(done);
    return 0;
}
