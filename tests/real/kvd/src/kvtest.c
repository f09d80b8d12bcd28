/* The server and several clients in one process: what the clients are told has to add up. */
#include "client.h"
#include "server.h"

#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct task {
    pthread_t thread;
    uint16_t port;
    int number;
    int rounds;
};

static void expect(struct client *client, const char *line, const char *wanted)
{
    char reply[256];
    int result = client_ask(client, line, reply, sizeof reply);

    assert(result == 0);
    assert(strcmp(reply, wanted) == 0);
}

/* Keys of its own, which nobody else changes. */
static void own_keys(struct client *client, int number)
{
    char line[64], wanted[64];

    snprintf(line, sizeof line, "set own%d text of %d", number, number);
    expect(client, line, "OK");
    snprintf(line, sizeof line, "get own%d", number);
    snprintf(wanted, sizeof wanted, "VALUE text of %d", number);
    expect(client, line, wanted);
    snprintf(line, sizeof line, "del own%d", number);
    expect(client, line, "OK");
}

static void *talk(void *argument)
{
    struct task *task = argument;
    struct client client;
    char reply[256];
    int result = client_connect(&client, task->port);

    assert(result == 0);
    for (int round = 0; round < task->rounds; round++) {
        result = client_ask(&client, "add sum 1", reply, sizeof reply);
        assert(result == 0 && strncmp(reply, "VALUE ", 6) == 0);
    }
    own_keys(&client, task->number);
    /* Does not wait for the reply. */
    client_send(&client, "add impatient 1");
    client_close(&client);
    return NULL;
}

int main(int argc, char **argv)
{
    int clients = argc > 1 ? atoi(argv[1]) : 2, rounds = argc > 2 ? atoi(argv[2]) : 2;
    struct store *store = store_new(4);
    struct server *server = store != NULL ? server_start(0, 2, store) : NULL;
    struct task *tasks = calloc((size_t)clients, sizeof *tasks);
    struct client client;
    char wanted[64];
    int result;

    if (server == NULL || tasks == NULL) {
        fprintf(stderr, "kvtest: cannot start the server\n");
        return EXIT_FAILURE;
    }
    for (int i = 0; i < clients; i++) {
        tasks[i] = (struct task){ .port = server_port(server), .number = i, .rounds = rounds };
        pthread_create(&tasks[i].thread, NULL, talk, &tasks[i]);
    }
    for (int i = 0; i < clients; i++)
        pthread_join(tasks[i].thread, NULL);

    result = client_connect(&client, server_port(server));
    assert(result == 0);
    snprintf(wanted, sizeof wanted, "VALUE %d", clients * rounds);
    expect(&client, "get sum", wanted);
    client_close(&client);
    assert(server_served(server) == clients + 1);
    server_stop(server);
    store_free(store);
    free(tasks);
    return EXIT_SUCCESS;
}
