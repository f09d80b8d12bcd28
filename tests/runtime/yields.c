// Yields are hints. `gate`: a thread yields a few times before it looks at what another one is changing. `waits`: it
// yields until the other one is done.
#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>

static int moving, moved;
static const char *how;

static void *mover(void *argument)
{
    (void)argument;
    moving = 1;
    moving = 0;
    __atomic_store_n(&moved, 1, __ATOMIC_SEQ_CST);
    return NULL;
}

static void *looker(void *argument)
{
    (void)argument;
    for (int i = 0; i < 4; i++)
        sched_yield();
    while (!strcmp(how, "waits") && !__atomic_load_n(&moved, __ATOMIC_SEQ_CST))
        sched_yield();
    assert(!moving);
    return NULL;
}

int main(int count, char **words)
{
    pthread_t threads[2];
    (void)count;
    how = words[1];
    pthread_create(&threads[0], NULL, mover, NULL);
    pthread_create(&threads[1], NULL, looker, NULL);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    return 0;
}
