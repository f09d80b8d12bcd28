// A download session with an event thread that hands out bandwidth.
//
// What is wrong: session_new() starts the event thread before it sets `bandwidth`. As a rule the
// thread takes long enough to start; when it does not, it works with a session that is not ready.
//
// After a bug of Transmission 1.42, a BitTorrent client.
//
// expect kind: order-violation
// expect cause: assert(session->bandwidth != NULL);
// expect interference: session->bandwidth = bandwidth_new(4096);

#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct bandwidth {
    long limit;
    long used;
};

struct session {
    pthread_t events;
    int peers;
    struct bandwidth *bandwidth;
};

static struct bandwidth *bandwidth_new(long limit)
{
    struct bandwidth *bandwidth = malloc(sizeof *bandwidth);
    bandwidth->limit = limit;
    bandwidth->used = 0;
    return bandwidth;
}

static long bandwidth_take(struct session *session, long bytes)
{
    assert(session->bandwidth != NULL);
    struct bandwidth *bandwidth = session->bandwidth;
    if (bandwidth->used + bytes > bandwidth->limit)
        bytes = bandwidth->limit - bandwidth->used;
    bandwidth->used += bytes;
    return bytes;
}

static void *event_loop(void *arg)
{
    struct session *session = arg;
    for (int peer = 0; peer < session->peers; peer++)
        bandwidth_take(session, 1024);
    return NULL;
}

static struct session *session_new(int peers)
{
    struct session *session = calloc(1, sizeof *session);
    session->peers = peers;
    pthread_create(&session->events, NULL, event_loop, session);
    session->bandwidth = bandwidth_new(4096);
    return session;
}

static void session_close(struct session *session)
{
    pthread_join(session->events, NULL);
    printf("%ld of %ld bytes used\n", session->bandwidth->used, session->bandwidth->limit);
    free(session->bandwidth);
    free(session);
}

int main(void)
{
    struct session *session = session_new(3);
    session_close(session);
    return 0;
}
