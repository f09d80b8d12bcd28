// A log that is written out when the next entry would not fit.
//
// What is wrong: between the question whether an entry fits and the move of the end another thread may add
// its own. Nobody writes the log out, and it becomes longer than its buffer.
//
// After bug 25520 of the Apache web server: what should have happened, writing out, did not.
//
// expect kind: atomicity-violation
// expect cause: if (log_used + length > SIZE)
// expect cause: log_used += length;
// expect interference: log_used += length;

#include <assert.h>
#include <pthread.h>

enum { SIZE = 10 };

static int log_used;
static int written;

static void flush(void)
{
    written += log_used;
    log_used = 0;
}

static void log_entry(int length)
{
    if (log_used + length > SIZE)
        flush();
    log_used += length;
}

static void *serve_page(void *arg)
{
    log_entry(6);
    return arg;
}

static void *serve_picture(void *arg)
{
    log_entry(7);
    return arg;
}

int main(void)
{
    pthread_t threads[2];

    pthread_create(&threads[0], NULL, serve_page, NULL);
    pthread_create(&threads[1], NULL, serve_picture, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    assert(log_used <= SIZE);
    return 0;
}
