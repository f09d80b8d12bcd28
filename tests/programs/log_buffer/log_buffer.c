// A buffered log: lines are collected in memory and written out when the buffer is full.
//
// What is wrong: log_line() copies to the end of the buffer and moves the end afterwards, without a
// lock. Two request threads write to the same place and one of the lines is lost.
//
// After bug 25520 of the Apache web server.
//
// expect kind: atomicity-violation
// expect cause 1: memcpy(log->text + log->used, parts[i], length[i]);
// expect cause 1: log->used += length[i];
// expect cause 2: log->used += length[i];
// expect interference: log->used += length[i];

#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { BUFFER = 512, PARTS = 3 };

struct log {
    char text[BUFFER];
    size_t used;
    size_t flushed;
};

struct request {
    struct log *log;
    const char *address;
    const char *path;
};

static void flush(struct log *log)
{
    fwrite(log->text, 1, log->used, stdout);
    log->flushed += log->used;
    log->used = 0;
}

static void log_line(struct log *log, const char *const parts[], int count)
{
    size_t length[PARTS], total = 0;
    for (int i = 0; i < count; i++)
        total += length[i] = strlen(parts[i]);
    if (log->used + total > BUFFER)
        flush(log);

    for (int i = 0; i < count; i++) {
        memcpy(log->text + log->used, parts[i], length[i]);
        log->used += length[i];
    }
}

static void *serve(void *arg)
{
    struct request *request = arg;
    const char *line[PARTS] = {request->address, request->path, "\n"};
    log_line(request->log, line, PARTS);
    return NULL;
}

int main(void)
{
    static struct log log;
    struct request requests[2] = {
        {&log, "10.0.0.1 ", "GET /index.html"},
        {&log, "10.0.0.2 ", "GET /favicon.ico"},
    };
    size_t expected = 0;
    pthread_t threads[2];

    for (int i = 0; i < 2; i++) {
        expected += strlen(requests[i].address) + strlen(requests[i].path) + 1;
        pthread_create(&threads[i], NULL, serve, &requests[i]);
    }
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);

    flush(&log);
    assert(log.flushed == expected);
    return 0;
}
