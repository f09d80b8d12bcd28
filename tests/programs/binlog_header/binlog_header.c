// A replication log: a reader asks for the next event while the writer moves on to another file.
//
// What is wrong: the writer changes the name of the file first and the position in it afterwards, each
// under the lock, but not both. A reader in between has the new name with the position of the old
// file.
//
// After a bug of MySQL, a database server, in the binary log.
//
// expect kind: multi-variable-atomicity-violation
// expect cause 1: log_name = name;
// expect cause 2: log_position = HEADER;
// expect interference: reader_name = log_name;
// expect interference: reader_position = log_position;

#include <assert.h>
#include <pthread.h>

enum { HEADER = 4, MIDDLE = 120 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int log_name = 1;
static int log_position = MIDDLE;

static void set_name(int name)
{
    pthread_mutex_lock(&lock);
    log_name = name;
    pthread_mutex_unlock(&lock);
}

static void set_position(void)
{
    pthread_mutex_lock(&lock);
    log_position = HEADER;
    pthread_mutex_unlock(&lock);
}

static void *rotate(void *arg)
{
    set_name(2);
    set_position();
    return arg;
}

static void *next_event(void *arg)
{
    int reader_name, reader_position;

    pthread_mutex_lock(&lock);
    reader_name = log_name;
    reader_position = log_position;
    pthread_mutex_unlock(&lock);
    if (reader_name == 2)
        assert(reader_position == HEADER);
    else
        assert(reader_position == MIDDLE);
    return arg;
}

int main(void)
{
    pthread_t writer, reader;

    pthread_create(&writer, NULL, rotate, NULL);
    pthread_create(&reader, NULL, next_event, NULL);
    pthread_join(writer, NULL);
    pthread_join(reader, NULL);
    return 0;
}
