// A pool of threads and a queue between threads, whose locks lie within the library.
//
// expect no failure

#include <assert.h>
#include <glib.h>

enum { JOBS = 4 };

static GAsyncQueue *results;

static void square(gpointer job, gpointer unused)
{
    (void)unused;
    int *result = g_new(int, 1);
    *result = GPOINTER_TO_INT(job) * GPOINTER_TO_INT(job);
    g_async_queue_push(results, result);
}

int main(void)
{
    results = g_async_queue_new();
    GThreadPool *pool = g_thread_pool_new(square, NULL, 2, TRUE, NULL);
    for (int i = 1; i <= JOBS; i++)
        g_thread_pool_push(pool, GINT_TO_POINTER(i), NULL);
    int sum = 0;
    for (int i = 1; i <= JOBS; i++) {
        int *result = g_async_queue_pop(results);
        sum += *result;
        g_free(result);
    }
    g_thread_pool_free(pool, FALSE, TRUE);
    assert(sum == 30);
    assert(g_async_queue_length(results) == 0);
    g_async_queue_unref(results);
    return 0;
}
