/* The client: sends the lines of its standard input and prints the replies. */
#include "client.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
    struct client client;
    char line[256], reply[512];

    if (argc != 2) {
        fprintf(stderr, "usage: kvc PORT\n");
        return 2;
    }
    if (client_connect(&client, (uint16_t)atoi(argv[1])) != 0) {
        fprintf(stderr, "kvc: cannot connect: %s\n", strerror(errno));
        return EXIT_FAILURE;
    }
    while (fgets(line, sizeof line, stdin) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        if (client_ask(&client, line, reply, sizeof reply) != 0) {
            fprintf(stderr, "kvc: the connection has ended\n");
            return EXIT_FAILURE;
        }
        puts(reply);
    }
    client_close(&client);
    return EXIT_SUCCESS;
}
