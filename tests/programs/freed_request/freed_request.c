// A thread asks a server and frees its request when the answer is there.
//
// What is wrong: the server signals after it has given back the request's lock, and the request may be gone
// by then: whoever asked sees the answer without waiting for the signal.
//
// expect kind: use-after-free
// expect cause: free(request);
// expect interference: pthread_cond_broadcast(&request->answered);

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

enum { REQUESTS = 3 };

#define LOCK(what) pthread_mutex_lock(&(what)->lock)
#define UNLOCK(what) pthread_mutex_unlock(&(what)->lock)

struct request {
    pthread_mutex_t lock;
    pthread_cond_t answered;
    bool done;
    int answer;
    struct request *next;
};

static struct {
    pthread_mutex_t lock;
    pthread_cond_t filled;
    struct request *first;
} queue = {.lock = PTHREAD_MUTEX_INITIALIZER, .filled = PTHREAD_COND_INITIALIZER};

static void finish(struct request *request, int answer)
{
    LOCK(request);
    request->answer = answer;
    request->done = true;
    UNLOCK(request);
    pthread_cond_broadcast(&request->answered);
}

static void *serve(void *unused)
{
    for (int number = 0; number < REQUESTS; number++) {
        LOCK(&queue);
        while (queue.first == NULL)
            pthread_cond_wait(&queue.filled, &queue.lock);
        struct request *request = queue.first;
        queue.first = request->next;
        UNLOCK(&queue);
        finish(request, number * number);
    }
    return unused;
}

static int ask(void)
{
    struct request *request = calloc(1, sizeof *request);
    pthread_mutex_init(&request->lock, NULL);
    pthread_cond_init(&request->answered, NULL);
    LOCK(&queue);
    request->next = queue.first;
    queue.first = request;
    pthread_cond_signal(&queue.filled);
    UNLOCK(&queue);

    LOCK(request);
    while (!request->done)
        pthread_cond_wait(&request->answered, &request->lock);
    int answer = request->answer;
    UNLOCK(request);
    pthread_cond_destroy(&request->answered);
    pthread_mutex_destroy(&request->lock);
    free(request);
    return answer;
}

int main(void)
{
    pthread_t server;
    pthread_create(&server, NULL, serve, NULL);
    int sum = 0;
    for (int number = 0; number < REQUESTS; number++)
        sum += ask();
    pthread_join(server, NULL);
    return sum != 5;
}
