// A cache of objects that are counted: whoever gives back the last reference marks the object's place
// as free.
//
// What is wrong: release() counts down atomically, but then reads the count again: two threads can both
// read zero.
//
// After bug 21287 of the Apache web server.
//
// expect kind: atomicity-violation
// expect cause 1: object->references--;
// expect cause 2: if (object->references == 0)
// expect interference: object->references--;

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

struct object {
    atomic_int references;
    atomic_bool is_free;
    int size;
};

static struct object page = {2, false, 512};

static void free_object(struct object *object)
{
    bool was_free = atomic_exchange(&object->is_free, true);

    assert(!was_free);
}

static void release(struct object *object)
{
    object->references--;
    if (object->references == 0)
        free_object(object);
}

static void *serve(void *arg)
{
    int size = page.size;
    release(&page);
    return size > 0 ? arg : NULL;
}

int main(void)
{
    pthread_t first, second;

    pthread_create(&first, NULL, serve, NULL);
    pthread_create(&second, NULL, serve, NULL);
    pthread_join(first, NULL);
    pthread_join(second, NULL);
    return 0;
}
