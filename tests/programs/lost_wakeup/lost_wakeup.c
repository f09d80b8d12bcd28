// A client waits until the server has read its settings.
//
// What is wrong: wait_until_ready() lets go of the lock between looking at `ready` and waiting. When the
// server becomes ready in between, its signal finds nobody waiting and never comes again.
//
// expect kind: lost-wakeup
// expect cause: pthread_cond_wait(&server->became_ready, &server->lock);
// expect interference: pthread_cond_signal(&server->became_ready);
// expect also: bool ready = server->ready;
// expect also: server->ready = true;

#include <assert.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>

struct server {
    pthread_mutex_t lock;
    pthread_cond_t became_ready;
    bool ready;
    int port;
};

static struct server server = {
    .lock = PTHREAD_MUTEX_INITIALIZER,
    .became_ready = PTHREAD_COND_INITIALIZER,
};

static bool is_ready(struct server *server)
{
    pthread_mutex_lock(&server->lock);
    bool ready = server->ready;
    pthread_mutex_unlock(&server->lock);
    return ready;
}

static void wait_until_ready(struct server *server)
{
    if (is_ready(server))
        return;
    pthread_mutex_lock(&server->lock);
    pthread_cond_wait(&server->became_ready, &server->lock);
    pthread_mutex_unlock(&server->lock);
}

static void *start(void *arg)
{
    struct server *server = arg;
    pthread_mutex_lock(&server->lock);
    server->port = 8080;
    server->ready = true;
    pthread_cond_signal(&server->became_ready);
    pthread_mutex_unlock(&server->lock);
    return NULL;
}

int main(void)
{
    pthread_t starter;

    pthread_create(&starter, NULL, start, &server);
    wait_until_ready(&server);
    printf("connecting to port %d\n", server.port);
    assert(server.port == 8080);
    pthread_join(starter, NULL);
    return 0;
}
