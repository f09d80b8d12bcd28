/* The server: serves until its standard input ends. */
#include "server.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
    int port = argc > 1 ? atoi(argv[1]) : 0, workers = argc > 2 ? atoi(argv[2]) : 4;
    struct store *store;
    struct server *server;

    if (argc > 3 || port < 0 || port > 65535 || workers < 1) {
        fprintf(stderr, "usage: kvd [PORT [WORKERS]]\n");
        return 2;
    }
    store = store_new(8);
    server = store != NULL ? server_start((uint16_t)port, workers, store) : NULL;
    if (server == NULL) {
        fprintf(stderr, "kvd: cannot start: %s\n", strerror(errno));
        return EXIT_FAILURE;
    }
    printf("%u\n", server_port(server));
    fflush(stdout);
    while (getchar() != EOF)
        continue;
    server_stop(server);
    store_free(store);
    return EXIT_SUCCESS;
}
