// A worker hands two jobs to the loop of the main thread, and wakes it by a byte in a pipe for each.
//
// What is wrong: the loop takes the jobs first, and then all bytes from the pipe. A job that comes in between is left where
// it is, its byte is gone, and the loop waits for the next one for ever.
//
// After a defect of a mail server (dbmail).
//
// expect kind: lost-wakeup
// expect cause: struct job *first = jobs;
// expect interference: jobs = job;

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

struct job {
    struct job *next;
    int is_last;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct job *jobs;
static int ends[2];

static void submit(int is_last)
{
    struct job *job = malloc(sizeof *job);
    job->is_last = is_last;
    pthread_mutex_lock(&lock);
    job->next = jobs;
    jobs = job;
    pthread_mutex_unlock(&lock);
    if (write(ends[1], "j", 1) != 1)
        abort();
}

static void *work(void *arg)
{
    submit(0);
    submit(1);
    return arg;
}

static struct job *take_all(void)
{
    pthread_mutex_lock(&lock);
    struct job *first = jobs;
    jobs = NULL;
    pthread_mutex_unlock(&lock);
    return first;
}

static int run_jobs(void)
{
    int is_over = 0;
    for (struct job *job = take_all(), *next; job; job = next) {
        next = job->next;
        is_over |= job->is_last;
        free(job);
    }
    return is_over;
}

static void drain(void)
{
    char bytes[16];
    while (read(ends[0], bytes, sizeof bytes) > 0) {
    }
}

int main(void)
{
    if (pipe(ends) != 0 || fcntl(ends[0], F_SETFL, O_NONBLOCK) != 0)
        abort();
    pthread_t worker;
    pthread_create(&worker, NULL, work, NULL);
    struct pollfd bytes = {.fd = ends[0], .events = POLLIN};
    int is_over = 0;
    while (!is_over && poll(&bytes, 1, -1) == 1) {
        is_over = run_jobs();
        drain();
    }
    pthread_join(worker, NULL);
    return 0;
}
