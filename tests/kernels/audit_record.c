// System calls note their arguments for an audit: which descriptor, and that it is valid.
//
// What is wrong: two threads of a process use the same record. What one of them notes may be another's
// by the time that it is written down.
//
// After a bug of FreeBSD's audit of arguments.
//
// expect kind: atomicity-violation multi-variable-atomicity-violation
// expect cause: record.descriptor = descriptor;
// expect cause: int noted = record.descriptor;
// expect interference: record.descriptor = descriptor;

#include <assert.h>
#include <pthread.h>

static struct {
    int descriptor;
    int is_valid;
} record;

static int numbers[2] = {3, 4};

static void audit(int descriptor)
{
    record.descriptor = descriptor;
    record.is_valid = 1;

    int noted = record.descriptor;
    assert(noted == descriptor);
}

static void *call(void *arg)
{
    audit(*(int *)arg);
    return NULL;
}

int main(void)
{
    pthread_t threads[2];

    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, call, &numbers[i]);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
