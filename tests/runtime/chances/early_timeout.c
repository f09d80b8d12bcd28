/* The answer always comes, but ten seconds may be over before it does. */
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <time.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t answered = PTHREAD_COND_INITIALIZER;
static int answer;

static void *server(void *unused) {
    pthread_mutex_lock(&lock);
    answer = 42;
    pthread_cond_signal(&answered);
    pthread_mutex_unlock(&lock);
    return unused;
}

int main(void) {
    pthread_t thread;
    struct timespec until;
    int status = 0;
    pthread_create(&thread, NULL, server, NULL);
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 10;
    pthread_mutex_lock(&lock);
    while (answer == 0 && status != ETIMEDOUT)
        status = pthread_cond_timedwait(&answered, &lock, &until);
    assert(answer == 42);
    pthread_mutex_unlock(&lock);
    pthread_join(thread, NULL);
    return 0;
}
