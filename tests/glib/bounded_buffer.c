// A buffer of two places between producers and consumers, with a GCond for each direction. With -DWATCHED a watcher
// waits for a time, again and again.
//
// expect no failure

#include <assert.h>
#include <glib.h>

enum { PLACES = 2, ITEMS = 3 };

typedef struct {
    GMutex lock;
    GCond filled, emptied;
    int items[PLACES];
    int used;
} Buffer;

static Buffer *buffer;
static int sum;
static gboolean is_over;

static gpointer produce(gpointer unused)
{
    (void)unused;
    for (int i = 1; i <= ITEMS; i++) {
        g_mutex_lock(&buffer->lock);
        while (buffer->used == PLACES)
            g_cond_wait(&buffer->emptied, &buffer->lock);
        buffer->items[buffer->used++] = i;
        g_cond_signal(&buffer->filled);
        g_mutex_unlock(&buffer->lock);
    }
    return NULL;
}

static gpointer consume(gpointer unused)
{
    (void)unused;
    for (int i = 0; i < ITEMS; i++) {
        g_mutex_lock(&buffer->lock);
        while (buffer->used == 0)
            g_cond_wait(&buffer->filled, &buffer->lock);
        sum += buffer->items[--buffer->used];
        g_cond_signal(&buffer->emptied);
        g_mutex_unlock(&buffer->lock);
    }
    return NULL;
}

#ifdef WATCHED
/* Waits for the end, and looks again each second. */
static gpointer watch(gpointer unused)
{
    (void)unused;
    g_mutex_lock(&buffer->lock);
    while (!is_over) {
        gint64 until = g_get_monotonic_time() + G_TIME_SPAN_SECOND;
        g_cond_wait_until(&buffer->filled, &buffer->lock, until);
        /* The signal may have been meant for a consumer. */
        if (!is_over)
            g_cond_signal(&buffer->filled);
        g_mutex_unlock(&buffer->lock);
        g_mutex_lock(&buffer->lock);
    }
    g_mutex_unlock(&buffer->lock);
    return NULL;
}
#endif

int main(void)
{
    buffer = g_new0(Buffer, 1);
#ifdef WATCHED
    GThread *watcher = g_thread_new("watcher", watch, NULL);
#endif
    GThread *producer = g_thread_new("producer", produce, NULL);
    GThread *consumer = g_thread_new("consumer", consume, NULL);
    g_thread_join(producer);
    g_thread_join(consumer);
    g_mutex_lock(&buffer->lock);
    is_over = TRUE;
    g_cond_broadcast(&buffer->filled);
    g_mutex_unlock(&buffer->lock);
#ifdef WATCHED
    g_thread_join(watcher);
#endif
    assert(sum == 6 && buffer->used == 0);
    g_free(buffer);
    return 0;
}
