// A link keeps three flags in one byte. Each flag has a lock of its own.
//
// What is wrong: bit-fields that are neighbours share a word of memory. `link.dirty = 1` reads the word,
// changes one bit and writes the word back; when `link.up = 1` comes in between it is undone.
//
// expect kind: atomicity-violation
// expect cause 1: link.dirty = 1;
// expect cause 2: link.up = 1;
// expect interference: link.up = 1;
// expect interference: link.dirty = 1;

#include <assert.h>
#include <pthread.h>
#include <stdio.h>

struct line {
    unsigned up : 1;
    unsigned dirty : 1;
    unsigned retries : 4;
};

static struct line link;
static pthread_mutex_t up_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t dirty_lock = PTHREAD_MUTEX_INITIALIZER;

static void *connect_link(void *arg)
{
    pthread_mutex_lock(&up_lock);
    link.up = 1;
    pthread_mutex_unlock(&up_lock);
    return arg;
}

static void *write_line(void *arg)
{
    pthread_mutex_lock(&dirty_lock);
    link.dirty = 1;
    pthread_mutex_unlock(&dirty_lock);
    return arg;
}

int main(void)
{
    pthread_t threads[2];

    link.retries = 3;
    pthread_create(&threads[0], NULL, connect_link, NULL);
    pthread_create(&threads[1], NULL, write_line, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);

    printf("up %d, dirty %d\n", link.up, link.dirty);
    assert(link.up && link.dirty);
    return 0;
}
