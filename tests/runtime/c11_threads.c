// C11 threads, mutexes and conditions: the same steps as POSIX threads with other status codes.
#include <assert.h>
#include <stdatomic.h>
#include <stddef.h>
#include <threads.h>

enum { WORKERS = 2 };

static mtx_t lock, timed;
static cnd_t opened;
static once_flag once = ONCE_FLAG_INIT;
static int open, initialized;
static atomic_int passed;

static void initialize(void) { initialized++; }

static int pass(void *arg)
{
    (void)arg;
    call_once(&once, initialize);
    mtx_lock(&lock);
    while (!open)
        cnd_wait(&opened, &lock);
    mtx_unlock(&lock);
    atomic_fetch_add(&passed, 1);
    if (mtx_trylock(&timed) == thrd_success)
        mtx_unlock(&timed);
    thrd_yield();
    return 5;
}

int main(void)
{
    assert(mtx_init(&lock, mtx_plain) == thrd_success);
    assert(mtx_init(&timed, mtx_timed) == thrd_success);
    assert(cnd_init(&opened) == thrd_success);
    thrd_t workers[WORKERS];
    for (int i = 0; i < WORKERS; i++)
        assert(thrd_create(&workers[i], pass, NULL) == thrd_success);
    mtx_lock(&lock);
    open = 1;
    cnd_broadcast(&opened);
    mtx_unlock(&lock);
    for (int i = 0; i < WORKERS; i++) {
        int result = 0;
        assert(thrd_join(workers[i], &result) == thrd_success && result == 5);
    }
    assert(passed == WORKERS && initialized == 1);
    mtx_destroy(&timed);
    mtx_destroy(&lock);
    return 0;
}
