#ifndef CLIENT_H
#define CLIENT_H

#include <stddef.h>
#include <stdint.h>

/* A connection to the server. */
struct client {
    int descriptor;
    size_t filled;
    char input[512];
};

/* Returns -1 with errno set. */
int client_connect(struct client *client, uint16_t port);
void client_close(struct client *client);

/* Sends a line without waiting for the reply. Returns -1 with errno set. */
int client_send(struct client *client, const char *line);

/* Waits for a reply, without its end. Returns -1 when the connection has ended. */
int client_receive(struct client *client, char *reply, size_t capacity);

/* Both. */
int client_ask(struct client *client, const char *line, char *reply, size_t capacity);

#endif
