// Each function of GLib's locks, conditions and once-only initializations, in an order that one thread determines.
//
// expect no failure

#include <assert.h>
#include <glib.h>

static GMutex mutex;
static GRecMutex recursive;
static GRWLock table;
static GCond changed;
static GOnce once = G_ONCE_INIT;
static gsize initialized;
static int made;

static gpointer make(gpointer by)
{
    made += GPOINTER_TO_INT(by);
    return &made;
}

static gpointer other(gpointer unused)
{
    (void)unused;
    assert(!g_mutex_trylock(&mutex));
    assert(!g_rec_mutex_trylock(&recursive));
    assert(!g_rw_lock_writer_trylock(&table));
    assert(g_rw_lock_reader_trylock(&table));
    g_rw_lock_reader_unlock(&table);
    return NULL;
}

static gpointer initialize(gpointer unused)
{
    (void)unused;
    if (g_once_init_enter(&initialized)) {
        made = 1;
        g_once_init_leave(&initialized, 7);
    }
    assert(initialized == 7);
    int *result = g_once(&once, make, GINT_TO_POINTER(1));
    assert(*result == 2);
    return NULL;
}

static void each_lock(void)
{
    assert(g_mutex_trylock(&mutex));
    assert(g_rec_mutex_trylock(&recursive));
    g_rec_mutex_lock(&recursive);
    g_rw_lock_reader_lock(&table);
    g_thread_join(g_thread_new("other", other, NULL));
    g_rw_lock_reader_unlock(&table);
    g_rec_mutex_unlock(&recursive);
    g_rec_mutex_unlock(&recursive);
    assert(g_rw_lock_writer_trylock(&table));
    assert(!g_rw_lock_reader_trylock(&table));
    g_rw_lock_writer_unlock(&table);
    g_mutex_unlock(&mutex);
}

static void in_vain(void)
{
    g_mutex_lock(&mutex);
    gint64 until = g_get_monotonic_time() + G_TIME_SPAN_MILLISECOND;
    while (g_cond_wait_until(&changed, &mutex, until))
        ;
    assert(g_get_monotonic_time() >= until);
    g_mutex_unlock(&mutex);
}

int main(void)
{
    each_lock();
    in_vain();
    GThread *threads[2];
    for (int i = 0; i < 2; i++)
        threads[i] = g_thread_new("initializes", initialize, NULL);
    for (int i = 0; i < 2; i++)
        g_thread_join(threads[i]);
    assert(made == 2);
    g_rec_mutex_clear(&recursive);
    g_rw_lock_clear(&table);
    g_mutex_clear(&mutex);
    return 0;
}
