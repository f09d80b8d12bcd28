// Requests share two connections. A semaphore lets no more than two requests in at a time.
//
// What is wrong: the semaphore counts, it does not choose. Two requests that are let in can look at the same
// connection before either marks it as taken.
//
// expect kind: atomicity-violation
// expect cause 1: if (!connections[i].taken) {
// expect cause 2: connections[i].taken = true;
// expect interference: connections[i].taken = true;
//
// still wrong: gcc -O0, clang -O0
//
// With optimization the compiler leaves the second check of `owner` out: it has just set it.
//
// without the bug: gcc -O1, gcc -O2, clang -O1, clang -O2

#include <assert.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdio.h>

enum { CONNECTIONS = 2, REQUESTS = 3 };

struct connection {
    bool taken;
    int owner;
};

static struct connection connections[CONNECTIONS];
static sem_t available;

static struct connection *take(int number)
{
    struct connection *connection = NULL;

    sem_wait(&available);
    for (int i = 0; i < CONNECTIONS && connection == NULL; i++) {
        if (!connections[i].taken) {
            connections[i].taken = true;
            connection = &connections[i];
        }
    }
    assert(connection != NULL);
    connection->owner = number;
    return connection;
}

static void give_back(struct connection *connection)
{
    connection->taken = false;
    sem_post(&available);
}

static void *request(void *arg)
{
    int number = *(int *)arg;
    struct connection *connection = take(number);
    assert(connection->owner == number);
    give_back(connection);
    return NULL;
}

int main(void)
{
    pthread_t requests[REQUESTS];
    int numbers[REQUESTS];

    sem_init(&available, 0, CONNECTIONS);
    for (int i = 0; i < REQUESTS; i++) {
        numbers[i] = i + 1;
        pthread_create(&requests[i], NULL, request, &numbers[i]);
    }
    for (int i = 0; i < REQUESTS; i++)
        pthread_join(requests[i], NULL);
    printf("last used by %d and %d\n", connections[0].owner, connections[1].owner);
    return 0;
}
