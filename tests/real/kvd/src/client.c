#include "client.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

int client_connect(struct client *client, uint16_t port)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET,
        .sin_port = htons(port),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
    };

    client->filled = 0;
    client->descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (client->descriptor < 0)
        return -1;
    if (connect(client->descriptor, (struct sockaddr *)&address, sizeof address) != 0) {
        close(client->descriptor);
        return -1;
    }
    return 0;
}

void client_close(struct client *client)
{
    close(client->descriptor);
}

int client_send(struct client *client, const char *line)
{
    char text[512];
    int length = snprintf(text, sizeof text, "%s\n", line);
    size_t sent = 0;

    if (length < 0 || (size_t)length >= sizeof text) {
        errno = EMSGSIZE;
        return -1;
    }
    while (sent < (size_t)length) {
        ssize_t now = send(client->descriptor, text + sent, (size_t)length - sent, MSG_NOSIGNAL);
        if (now < 0 && errno == EINTR)
            continue;
        if (now < 0)
            return -1;
        sent += (size_t)now;
    }
    return 0;
}

int client_receive(struct client *client, char *reply, size_t capacity)
{
    char *end;
    size_t length;

    while ((end = memchr(client->input, '\n', client->filled)) == NULL) {
        size_t room = sizeof client->input - client->filled;
        ssize_t got = recv(client->descriptor, client->input + client->filled, room, 0);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return -1;
        client->filled += (size_t)got;
    }
    length = (size_t)(end - client->input);
    if (length >= capacity)
        return -1;
    memcpy(reply, client->input, length);
    reply[length] = '\0';
    client->filled -= length + 1;
    memmove(client->input, end + 1, client->filled);
    return 0;
}

int client_ask(struct client *client, const char *line, char *reply, size_t capacity)
{
    if (client_send(client, line) != 0)
        return -1;
    return client_receive(client, reply, capacity);
}
