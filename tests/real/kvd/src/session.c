// With SEEDED_BUG the work queue holds no reference (see server.c), so a connection that ends early
// is freed under the worker's hands:
//
// expect kind: use-after-free
// expect cause 1: free(session);
// expect interference: pthread_mutex_lock(&session->lock); // for the next line
// expect interference: pthread_mutex_unlock(&session->lock); // of the next line
// expect interference: pthread_mutex_lock(&session->lock); // for the mark
// expect interference: if (session->broken || end == NULL) {
// expect interference: ssize_t sent = send(session->descriptor, reply, length, MSG_NOSIGNAL);
// expect interference: char *end = memchr(session->input, '\n', session->filled);
// expect interference: session->queued = false;
#include "session.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct session *session_new(int descriptor)
{
    struct session *session = calloc(1, sizeof *session);

    if (session == NULL)
        return NULL;
    session->descriptor = descriptor;
    atomic_init(&session->references, 1);
    pthread_mutex_init(&session->lock, NULL);
    return session;
}

struct session *session_retain(struct session *session)
{
    atomic_fetch_add(&session->references, 1);
    return session;
}

void session_release(struct session *session)
{
    if (atomic_fetch_sub(&session->references, 1) != 1)
        return;
    close(session->descriptor);
    pthread_mutex_destroy(&session->lock);
    free(session);
}

/* Notes what was read. Returns whether a worker has to be told. Under the lock. */
static bool note(struct session *session, size_t got)
{
    session->filled += got;
    if (session->queued || session->broken ||
        memchr(session->input, '\n', session->filled) == NULL)
        return false;
    session->queued = true;
    return true;
}

bool session_read(struct session *session, bool *has_line)
{
    char chunk[LINE_MAX_BYTES];
    size_t room;
    ssize_t got;

    *has_line = false;
    pthread_mutex_lock(&session->lock);
    room = sizeof session->input - session->filled;
    pthread_mutex_unlock(&session->lock);
    if (room == 0)
        return false;
    got = recv(session->descriptor, chunk, room < sizeof chunk ? room : sizeof chunk, MSG_DONTWAIT);
    if (got < 0)
        return errno == EAGAIN || errno == EINTR;
    if (got == 0)
        return false;
    pthread_mutex_lock(&session->lock);
    memcpy(session->input + session->filled, chunk, (size_t)got);
    *has_line = note(session, (size_t)got);
    pthread_mutex_unlock(&session->lock);
    return true;
}

bool session_take_line(struct session *session, char line[LINE_MAX_BYTES])
{
    bool taken = false;

    pthread_mutex_lock(&session->lock); // for the next line
    char *end = memchr(session->input, '\n', session->filled);
    if (end != NULL && end - session->input >= LINE_MAX_BYTES)
        session->broken = true;
    if (session->broken || end == NULL) {
        session->queued = false;
    } else {
        size_t length = (size_t)(end - session->input);
        memcpy(line, session->input, length);
        line[length] = '\0';
        session->filled -= length + 1;
        memmove(session->input, end + 1, session->filled);
        taken = true;
    }
    pthread_mutex_unlock(&session->lock); // of the next line
    return taken;
}

void session_reply(struct session *session, const char *reply, size_t length)
{
    while (length > 0) {
        ssize_t sent = send(session->descriptor, reply, length, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0) {
            pthread_mutex_lock(&session->lock); // for the mark
            session->broken = true;
            pthread_mutex_unlock(&session->lock);
            return;
        }
        reply += sent;
        length -= (size_t)sent;
    }
}
