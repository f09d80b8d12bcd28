// A buffered log: lines are collected in memory and written out when the buffer is full.
//
// What is wrong: log_line() copies to the end of the buffer and moves the end afterwards, without a
// lock. Two requests that are served at the same time write their lines to the same place.
//
// After bug 25520 of the Apache web server.
//
// expect kind: atomicity-violation
// expect cause 1: char *end = log->text + log->used;
// expect cause 2: log->used += total;
// expect interference: log->used += total;
// expect also: memcpy(end, parts[i], length[i]);
//
// With optimization `used` is read once for the question whether the line fits and for where it goes.
//
// expect cause 1: if (log->used + total > BUFFER)
//
// still wrong: clang -O0
//
// More lines make longer runs: compile with -DLINES=10.

#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#ifndef LINES
#define LINES 1
#endif

enum { BUFFER = 512 * LINES, PARTS = 3 };

struct log {
    size_t used;
    char text[BUFFER];
};

struct request {
    struct log *log;
    const char *address;
    const char *path;
};

static void flush(struct log *log)
{
    fwrite(log->text, 1, log->used, stdout);
    log->used = 0;
}

static void log_line(struct log *log, const char *const parts[], int count)
{
    size_t length[PARTS], total = 0;
    for (int i = 0; i < count; i++)
        total += length[i] = strlen(parts[i]);
    if (log->used + total > BUFFER)
        flush(log);

    char *end = log->text + log->used;
    for (int i = 0; i < count; i++) {
        memcpy(end, parts[i], length[i]);
        end += length[i];
    }
    log->used += total;
}

static void *serve(void *arg)
{
    struct request *request = arg;
    const char *line[PARTS] = {request->address, request->path, "\n"};
    for (int i = 0; i < LINES; i++)
        log_line(request->log, line, PARTS);
    return NULL;
}

int main(void)
{
    static struct log log;
    struct request requests[2] = {
        {&log, "10.0.0.1 ", "GET /"},
        {&log, "10.0.0.2 ", "GET /news"},
    };
    pthread_t threads[2];

    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, serve, &requests[i]);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);

    assert(strstr(log.text, "10.0.0.1 GET /\n"));
    assert(strstr(log.text, "10.0.0.2 GET /news\n"));
    assert(log.used == 34 * LINES);
    flush(&log);
    return 0;
}
