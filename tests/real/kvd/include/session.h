#ifndef SESSION_H
#define SESSION_H

#include "protocol.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

/* One connection. The loop that reads from it and the worker that answers hold a reference each. */
struct session {
    struct session *next;    /* the loop's list */
    struct session *waiting; /* the queue of work */
    int descriptor;
    atomic_int references;
    pthread_mutex_t lock;    /* for all that follows */
    bool queued;             /* a worker has it, or will */
    bool broken;             /* a line was too long, or a reply could not be sent */
    size_t filled;
    char input[2 * LINE_MAX_BYTES];
};

/* With one reference, the caller's. Takes over the descriptor. NULL without memory. */
struct session *session_new(int descriptor);

struct session *session_retain(struct session *session);
/* The last reference closes the connection. */
void session_release(struct session *session);

/* Reads what there is. False at the end of the connection. Sets `has_line` when there is a whole
 * line that no worker has been told of. */
bool session_read(struct session *session, bool *has_line);

/* Takes the next line, without its end. False when there is none: the worker is done with it. */
bool session_take_line(struct session *session, char line[LINE_MAX_BYTES]);

/* Sends a reply; a connection that does not take it is marked as broken. */
void session_reply(struct session *session, const char *reply, size_t length);

#endif
