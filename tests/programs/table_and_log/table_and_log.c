// A database with a log of its statements: what the log says, done again, has to give the same table.
//
// What is wrong: a statement changes the table in one critical section and is written to the log in
// another. Two statements can be in the log in the opposite order.
//
// After a bug of MySQL, a database server, in which a replica differed from its master.
//
// expect kind: multi-variable-atomicity-violation
// expect cause 1: rows = 0;
// expect cause 2: rows++;
// expect cause 3: statements[logged++] = statement;
// expect interference: rows = 0;
// expect interference: rows++;
// expect interference: statements[logged++] = statement;

#include <assert.h>
#include <pthread.h>

enum statement { DELETE, INSERT };

static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;
static int rows = 3;
static enum statement statements[2];
static int logged;

static void write_log(enum statement statement)
{
    pthread_mutex_lock(&log_lock);
    statements[logged++] = statement;
    pthread_mutex_unlock(&log_lock);
}

static void *delete_all(void *arg)
{
    pthread_mutex_lock(&table_lock);
    rows = 0;
    pthread_mutex_unlock(&table_lock);
    write_log(DELETE);
    return arg;
}

static void *insert(void *arg)
{
    pthread_mutex_lock(&table_lock);
    rows++;
    pthread_mutex_unlock(&table_lock);
    write_log(INSERT);
    return arg;
}

static int replayed(void)
{
    int count = 3;
    for (int i = 0; i < logged; i++) {
        if (statements[i] == DELETE)
            count = 0;
        else
            count++;
    }
    return count;
}

int main(void)
{
    pthread_t first, second;

    pthread_create(&first, NULL, delete_all, NULL);
    pthread_create(&second, NULL, insert, NULL);
    pthread_join(first, NULL);
    pthread_join(second, NULL);
    assert(replayed() == rows);
    return 0;
}
