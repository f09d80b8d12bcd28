// Two users print, and each print is entered into a log; a third thread turns the log over.
//
// What is wrong, first: print_job() takes the queue's lock and then the log's, turn_over() takes them the other
// way round. Each can wait for the other.
//
// What is wrong, second: pages are counted after the locks were given back.
//
// -DFIRST_FIXED and -DSECOND_FIXED build it without the one or the other.
//
// expect kind: deadlock
// expect cause 1: pthread_mutex_lock(&spool.log); // of a job
// expect cause 2: pthread_mutex_lock(&spool.queue); // of the log
// expect interference: pthread_mutex_lock(&spool.queue); // of a job
// expect interference: pthread_mutex_lock(&spool.log); // of the log
// and expect kind: atomicity-violation
// and expect cause: pages += count; // of all jobs

#include <assert.h>
#include <pthread.h>
#include <stddef.h>

enum { USERS = 2, LENGTH = 3 };

static struct {
    pthread_mutex_t queue;
    pthread_mutex_t log;
    int jobs;
    int lines;
} spool = {.queue = PTHREAD_MUTEX_INITIALIZER, .log = PTHREAD_MUTEX_INITIALIZER};

static int pages;

static void print_job(int count)
{
    pthread_mutex_lock(&spool.queue); // of a job
    spool.jobs++;
    pthread_mutex_lock(&spool.log); // of a job
    spool.lines++;
    pthread_mutex_unlock(&spool.log);
#ifdef SECOND_FIXED
    pages += count;
    pthread_mutex_unlock(&spool.queue);
#else
    pthread_mutex_unlock(&spool.queue);
    pages += count; // of all jobs
#endif
}

static void *user(void *arg)
{
    (void)arg;
    print_job(LENGTH);
    return NULL;
}

static void *turn_over(void *arg)
{
    (void)arg;
#ifdef FIRST_FIXED
    pthread_mutex_lock(&spool.queue);
    pthread_mutex_lock(&spool.log);
#else
    pthread_mutex_lock(&spool.log); // of the log
    pthread_mutex_lock(&spool.queue); // of the log
#endif
    spool.lines = spool.jobs;
    pthread_mutex_unlock(&spool.queue);
    pthread_mutex_unlock(&spool.log);
    return NULL;
}

int main(void)
{
    pthread_t users[USERS], keeper;

    pthread_create(&keeper, NULL, turn_over, NULL);
    for (int i = 0; i < USERS; i++)
        pthread_create(&users[i], NULL, user, NULL);
    for (int i = 0; i < USERS; i++)
        pthread_join(users[i], NULL);
    pthread_join(keeper, NULL);
    assert(pages == USERS * LENGTH);
    return 0;
}
