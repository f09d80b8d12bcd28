// Lists of attributes are counted, and found again in a table by whoever needs the same.
//
// What is wrong: the count is atomic and the table has a lock, but between the count's end and leaving the
// table somebody may find the list and use it.
//
// After bug 8441 of LLVM.
//
// expect kind: atomicity-violation multi-variable-atomicity-violation
// expect cause: if (atomic_fetch_sub(&list.references, 1) == 1)
// expect cause: list.is_freed = true;
// expect interference: if (list.is_listed)
// expect interference: atomic_fetch_add(&list.references, 1);
// expect interference: found = true;

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    atomic_int references;
    bool is_listed;
    bool is_freed;
} list = {1, true, false};

static void destroy(void)
{
    pthread_mutex_lock(&table_lock);
    list.is_listed = false;
    list.is_freed = true;
    pthread_mutex_unlock(&table_lock);
}

static bool find(void)
{
    bool found = false;
    pthread_mutex_lock(&table_lock);
    if (list.is_listed) {
        atomic_fetch_add(&list.references, 1);
        found = true;
    }
    pthread_mutex_unlock(&table_lock);
    return found;
}

static void drop(void)
{
    if (atomic_fetch_sub(&list.references, 1) == 1)
        destroy();
}

static void *forget(void *arg)
{
    drop();
    return arg;
}

static void *use(void *arg)
{
    if (find())
        assert(!list.is_freed);
    return arg;
}

int main(void)
{
    pthread_t threads[2];

    pthread_create(&threads[0], NULL, forget, NULL);
    pthread_create(&threads[1], NULL, use, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
