/* A reader waits for a message with `if`: right as long as no wait ends by itself. */
#include <assert.h>
#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t arrived = PTHREAD_COND_INITIALIZER;
static int messages;

static void *reader(void *unused) {
    pthread_mutex_lock(&lock);
    if (messages == 0)
        pthread_cond_wait(&arrived, &lock);
    messages--;
    assert(messages >= 0);
    pthread_mutex_unlock(&lock);
    return unused;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, reader, NULL);
    pthread_mutex_lock(&lock);
    messages++;
    pthread_cond_signal(&arrived);
    pthread_mutex_unlock(&lock);
    pthread_join(thread, NULL);
    return 0;
}
