#include "server.h"

#include "work.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#define MAX_WORKERS 16
#define MAX_SESSIONS 62
#define WAKE 0
#define LISTEN 1
#define FIRST_SESSION 2

struct server {
    int listener;
    int wake[2];             /* a byte in this pipe ends the loop */
    uint16_t port;
    struct store *store;
    struct work work;
    atomic_long served;
    struct session *sessions; /* the loop's own */
    size_t session_count;
    pthread_t loop;
    int workers;
    pthread_t threads[MAX_WORKERS];
};

static void *answer(void *argument)
{
    struct server *server = argument;
    struct session *session;
    char line[LINE_MAX_BYTES], reply[LINE_MAX_BYTES + 16];

    while ((session = work_pop(&server->work)) != NULL) {
        while (session_take_line(session, line)) {
            size_t length = protocol_execute(server->store, line, reply, sizeof reply);
            session_reply(session, reply, length);
        }
#ifndef SEEDED_BUG
        session_release(session);
#endif
    }
    return NULL;
}

static void hand_to_worker(struct server *server, struct session *session)
{
#ifndef SEEDED_BUG
    session_retain(session);
#endif
    work_push(&server->work, session);
}

static void accept_one(struct server *server)
{
    int descriptor = accept(server->listener, NULL, NULL);
    struct session *session;

    if (descriptor < 0)
        return;
    session = session_new(descriptor);
    if (session == NULL) {
        close(descriptor);
        return;
    }
    session->next = server->sessions;
    server->sessions = session;
    server->session_count++;
    atomic_fetch_add(&server->served, 1);
}

/* Reads from the connections that have something to say; forgets those that have ended. */
static void serve_ready(struct server *server, const struct pollfd *polled)
{
    struct session **link = &server->sessions;

    while (*link != NULL) {
        struct session *session = *link;
        bool has_line = false, goes_on = true;
        if (polled++->revents != 0)
            goes_on = session_read(session, &has_line);
        if (has_line)
            hand_to_worker(server, session);
        if (goes_on) {
            link = &session->next;
            continue;
        }
        *link = session->next;
        server->session_count--;
        session_release(session);
    }
}

static void *loop(void *argument)
{
    struct server *server = argument;

    for (;;) {
        struct pollfd polled[FIRST_SESSION + MAX_SESSIONS];
        bool full = server->session_count == MAX_SESSIONS;
        nfds_t count = FIRST_SESSION;

        polled[WAKE] = (struct pollfd){ .fd = server->wake[0], .events = POLLIN };
        polled[LISTEN] = (struct pollfd){ .fd = full ? -1 : server->listener, .events = POLLIN };
        for (struct session *session = server->sessions; session != NULL; session = session->next)
            polled[count++] = (struct pollfd){ .fd = session->descriptor, .events = POLLIN };
        if (poll(polled, count, -1) < 0) {
            if (errno == EINTR)
                continue;
            break;
        }
        if (polled[WAKE].revents != 0)
            break;
        serve_ready(server, polled + FIRST_SESSION);
        if (polled[LISTEN].revents != 0)
            accept_one(server);
    }
    while (server->sessions != NULL) {
        struct session *session = server->sessions;
        server->sessions = session->next;
        session_release(session);
    }
    return NULL;
}

static int open_listener(uint16_t *port)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET,
        .sin_port = htons(*port),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
    };
    socklen_t size = sizeof address;
    int one = 1, listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (listener < 0)
        return -1;
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (bind(listener, (struct sockaddr *)&address, sizeof address) != 0 ||
        listen(listener, SOMAXCONN) != 0 ||
        getsockname(listener, (struct sockaddr *)&address, &size) != 0) {
        close(listener);
        return -1;
    }
    *port = ntohs(address.sin_port);
    return listener;
}

static int start_threads(struct server *server)
{
    int error = 0;

    for (int i = 0; i < server->workers && error == 0; i++)
        error = pthread_create(&server->threads[i], NULL, answer, server);
    if (error == 0)
        error = pthread_create(&server->loop, NULL, loop, server);
    return error;
}

struct server *server_start(uint16_t port, int workers, struct store *store)
{
    struct server *server = calloc(1, sizeof *server);

    if (server == NULL)
        return NULL;
    server->store = store;
    server->workers = workers < MAX_WORKERS ? workers : MAX_WORKERS;
    server->port = port;
    server->listener = open_listener(&server->port);
    if (server->listener < 0 || pipe(server->wake) != 0) {
        free(server);
        return NULL;
    }
    work_init(&server->work);
    atomic_init(&server->served, 0);
    if (start_threads(server) != 0)
        abort(); /* some threads may run already */
    return server;
}

uint16_t server_port(const struct server *server)
{
    return server->port;
}

long server_served(struct server *server)
{
    return atomic_load(&server->served);
}

void server_stop(struct server *server)
{
    while (write(server->wake[1], "", 1) < 0 && errno == EINTR)
        continue;
    pthread_join(server->loop, NULL);
    work_close(&server->work);
    for (int i = 0; i < server->workers; i++)
        pthread_join(server->threads[i], NULL);
    work_destroy(&server->work);
    close(server->wake[0]);
    close(server->wake[1]);
    close(server->listener);
    free(server);
}
