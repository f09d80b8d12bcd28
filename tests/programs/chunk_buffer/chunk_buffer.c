// A parallel compressor's ring of input chunks: a reader fills slots at the tail, two compressors take
// from the head.
//
// What is wrong: the reader moves the tail in one critical section and fills the slot in the next. A
// compressor in between takes a slot with nothing in it.
//
// After the input buffers of a parallel bzip2.
//
// expect kind: multi-variable-atomicity-violation
// expect cause 1: int slot = tail++ % SLOTS;
// expect cause 2: chunks[slot] = chunk;
// expect interference: int chunk = chunks[head % SLOTS];
// expect also: while (head == tail && !finished)
// expect also: if (head == tail)
//
// still wrong: gcc -O0, gcc -O2, clang -O2

#include <assert.h>
#include <pthread.h>
#include <stdbool.h>

enum { SLOTS = 4, CHUNKS = 3 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int chunks[SLOTS];
static unsigned head, tail;
static bool finished;

static void put(int chunk)
{
    pthread_mutex_lock(&lock);
    int slot = tail++ % SLOTS;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&lock);

    pthread_mutex_lock(&lock);
    chunks[slot] = chunk;
    pthread_mutex_unlock(&lock);
}

static bool take(void)
{
    pthread_mutex_lock(&lock);
    while (head == tail && !finished)
        pthread_cond_wait(&changed, &lock);
    if (head == tail) {
        pthread_mutex_unlock(&lock);
        return false;
    }
    int chunk = chunks[head % SLOTS];
    assert(chunk != 0);
    head++;
    pthread_mutex_unlock(&lock);
    return true;
}

static void *read_input(void *arg)
{
    for (int i = 1; i <= CHUNKS; i++)
        put(i);
    pthread_mutex_lock(&lock);
    finished = true;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    return arg;
}

static void *compress(void *arg)
{
    while (take())
        ;
    return arg;
}

int main(void)
{
    pthread_t reader, compressors[2];

    pthread_create(&reader, NULL, read_input, NULL);
    for (int i = 0; i < 2; i++)
        pthread_create(&compressors[i], NULL, compress, NULL);
    pthread_join(reader, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(compressors[i], NULL);
    return 0;
}
