// Two writers set a first value in one stage and what belongs to it in a second one; a reader looks at
// both. How often: ./two_stage [ROUNDS].
//
// What is wrong: both stages hold their lock, but there is a gap between them. A reader in the gap sees
// a new first value with an old second one.
//
// After the "TwoStage" program of the ConTest benchmarks.
//
// expect kind: multi-variable-atomicity-violation
// expect cause 1: data.first = value;
// expect cause 2: data.second = data.first + 1;
// expect interference: long first = data.first;
// expect interference: long second = data.second;
//
// still wrong: clang -O0, clang -O2

#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { WRITERS = 2, ROUNDS = 3 };

static pthread_mutex_t stage_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t first_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t second_lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    long first;
    long second;
    long changes;
} data = {0, 1, 0};
static long rounds = ROUNDS;

// One writer at a time changes both values.
static void change(long value)
{
    pthread_mutex_lock(&stage_lock);
    pthread_mutex_lock(&first_lock);
    data.first = value;
    data.changes++;
    pthread_mutex_unlock(&first_lock);

    pthread_mutex_lock(&second_lock);
    data.second = data.first + 1;
    pthread_mutex_unlock(&second_lock);
    pthread_mutex_unlock(&stage_lock);
}

static void *write_values(void *arg)
{
    long writer = (long)arg;
    for (long i = 0; i < rounds; i++)
        change(10 * writer + i);
    return NULL;
}

static void *read_values(void *arg)
{
    for (long left = rounds; left > 0; left--) {
        pthread_mutex_lock(&first_lock);
        pthread_mutex_lock(&second_lock);
        long first = data.first;
        long second = data.second;
        pthread_mutex_unlock(&second_lock);
        pthread_mutex_unlock(&first_lock);
        assert(second == first + 1);
    }
    return arg;
}

int main(int argc, char **argv)
{
    pthread_t writers[WRITERS], reader;

    if (argc > 1)
        rounds = atol(argv[1]);
    for (long i = 0; i < WRITERS; i++)
        pthread_create(&writers[i], NULL, write_values, (void *)(i + 1));
    pthread_create(&reader, NULL, read_values, NULL);
    for (int i = 0; i < WRITERS; i++)
        pthread_join(writers[i], NULL);
    pthread_join(reader, NULL);

    printf("%ld changes, in the end %ld and %ld\n", data.changes, data.first, data.second);
    assert(data.changes == WRITERS * rounds);
    return 0;
}
