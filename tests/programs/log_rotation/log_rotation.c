// A log of statements that is rotated: the old file is closed, a new one is opened.
//
// What is wrong: rotate() says for a moment that there is no log, without the lock that writers take.
// A statement that ends in this moment is not logged.
//
// After bug 791 of MySQL, a database server.
//
// expect kind: atomicity-violation
// expect cause 1: log_state = CLOSED;
// expect cause 2: log_state = OPEN;
// expect interference: if (log_state == OPEN)
//
// With optimization the compiler leaves out that the log is closed: it is opened again at once.
//
// without the bug: gcc -O1, gcc -O2, clang -O2

#include <assert.h>
#include <pthread.h>

enum state { CLOSED, OPEN };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static enum state log_state;
static int entries;
static int file_number = 1;

static void write_entry(void)
{
    pthread_mutex_lock(&lock);
    if (log_state == OPEN)
        entries++;
    pthread_mutex_unlock(&lock);
}

static void open_log(void)
{
    log_state = OPEN;
}

static void rotate(void)
{
    log_state = CLOSED;
    file_number++;
    open_log();
}

static void *run_statements(void *arg)
{
    for (int i = 0; i < 2; i++)
        write_entry();
    return arg;
}

static void *flush_logs(void *arg)
{
    rotate();
    return arg;
}

int main(void)
{
    pthread_t client, administrator;

    open_log();
    pthread_create(&client, NULL, run_statements, NULL);
    pthread_create(&administrator, NULL, flush_logs, NULL);
    pthread_join(client, NULL);
    pthread_join(administrator, NULL);
    assert(entries == 2);
    return 0;
}
