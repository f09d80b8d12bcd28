// A connection has a timer thread that counts the seconds it has been idle.
//
// What is wrong: connection_close() asks the timer to stop, but does not wait until it has. The timer may
// have just looked, and counts once more in a connection that is freed.
//
// expect kind: use-after-free
// expect cause: free(connection);
// expect interference: connection->statistics->ticks++;
// expect interference: while (!atomic_load(&connection->closing))

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

enum { LONGEST = 3 };

struct statistics {
    int ticks;
};

struct connection {
    atomic_bool closing;
    struct statistics *statistics;
};

static void tick(struct connection *connection)
{
    connection->statistics->ticks++;
}

static void *run_timer(void *arg)
{
    struct connection *connection = arg;
    int ticks = 0;
    while (!atomic_load(&connection->closing))
        if (ticks++ < LONGEST)
            tick(connection);
        else
            break;
    return NULL;
}

static struct connection *connection_open(pthread_t *timer, struct statistics *statistics)
{
    struct connection *connection = calloc(1, sizeof *connection);
    if (connection == NULL)
        abort();
    connection->statistics = statistics;
    pthread_create(timer, NULL, run_timer, connection);
    return connection;
}

static void connection_close(struct connection *connection)
{
    atomic_store(&connection->closing, true);
    printf("closing after %d ticks\n", connection->statistics->ticks);
    free(connection);
}

int main(void)
{
    pthread_t timer;
    struct statistics statistics = {0};
    struct connection *connection = connection_open(&timer, &statistics);
    connection_close(connection);
    pthread_join(timer, NULL);
    return 0;
}
