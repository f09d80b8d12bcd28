// A lock of one's own: who writes looks that nobody reads, who reads looks that nobody writes.
//
// What is wrong: looking and taking the lock are two steps, so both may get it.
//
// After "read_write_lock" of the software verification competition.
//
// expect kind: atomicity-violation multi-variable-atomicity-violation
// expect cause: if (readers == 0 && !writing) {
// expect cause: writing = true;
// expect cause: if (!writing) {
// expect cause: readers++;
// expect cause: int before = value;
// expect cause: int after = value;
// expect interference: if (readers == 0 && !writing) {
// expect interference: writing = true;
// expect interference: value = 3;
// expect interference: readers++;

#include <assert.h>
#include <pthread.h>
#include <stdbool.h>

static int readers;
static bool writing;
static int value;

static void *write_value(void *arg)
{
    if (readers == 0 && !writing) {
        writing = true;
        value = 3;
        writing = false;
    }
    return arg;
}

static void *read_value(void *arg)
{
    if (!writing) {
        readers++;
        int before = value;
        int after = value;
        assert(before == after);
        readers--;
    }
    return arg;
}

int main(void)
{
    pthread_t threads[2];

    pthread_create(&threads[0], NULL, write_value, NULL);
    pthread_create(&threads[1], NULL, read_value, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
