#ifndef SERVER_H
#define SERVER_H

#include "store.h"

#include <stdint.h>

struct server;

/* Listens on the loopback address, on any free port when `port` is 0. NULL with errno set. */
struct server *server_start(uint16_t port, int workers, struct store *store);

/* The port that it listens on. */
uint16_t server_port(const struct server *server);

/* Connections that it has served so far. */
long server_served(struct server *server);

/* Ends all connections and threads, and frees it. */
void server_stop(struct server *server);

#endif
