// A list of connections with what each is doing, for an administrator to look at.
//
// What is wrong: the list is made under a lock, but a connection that has ended its statement sets
// its description back to NULL without it, between the look and the use.
//
// After bug 3596 of MySQL, a database server.
//
// expect kind: atomicity-violation
// expect cause 1: if (connections[i].info != NULL)
// expect cause 2: length += strlen(connections[i].info);
// expect interference: connection->info = NULL;
//
// With optimization the compiler reads `info` once, for the look and for the use.
//
// without the bug: gcc -O1, gcc -O2, clang -O1, clang -O2

#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { CONNECTIONS = 2 };

struct connection {
    int id;
    int statements;
    const char *info;
};

static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static struct connection connections[CONNECTIONS] = {{1, 0, NULL}, {2, 0, NULL}};

static void *serve(void *arg)
{
    struct connection *connection = arg;

    connection->info = "updating";
    connection->statements++;
    connection->info = NULL;
    return NULL;
}

static void *show_list(void *arg)
{
    size_t length = 0;

    pthread_mutex_lock(&list_lock);
    for (int i = 0; i < CONNECTIONS; i++) {
        if (connections[i].info != NULL)
            length += strlen(connections[i].info);
    }
    pthread_mutex_unlock(&list_lock);
    printf("%zu characters\n", length);
    return arg;
}

int main(void)
{
    pthread_t server, administrator;

    pthread_create(&server, NULL, serve, &connections[0]);
    pthread_create(&administrator, NULL, show_list, NULL);
    pthread_join(server, NULL);
    pthread_join(administrator, NULL);
    return 0;
}
