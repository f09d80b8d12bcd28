// Connections are dealt to sets in turn.
//
// What is wrong: the number of the next set is read and set without a lock, so that two connections get the
// same set.
//
// After JETTY-1187, a bug of a web server.
//
// expect kind: atomicity-violation
// expect cause: int set = next_set;
// expect cause: next_set = set + 1;
// expect interference: next_set = set + 1;

#include <assert.h>
#include <pthread.h>

enum { SETS = 2 };

static int next_set;
static int connections[SETS];

static void *accept_connection(void *arg)
{
    int set = next_set;
    next_set = set + 1;
    connections[set % SETS]++;
    return arg;
}

int main(void)
{
    pthread_t threads[2];

    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, accept_connection, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    assert(next_set == 2);
    return 0;
}
