/* Two threads look under a lock whether they shall stop, one with naps between its looks; the request is lost when
   it comes before the napping thread starts. */
#include <pthread.h>
#include <stdbool.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool stop;

static bool is_stopped(void) {
    pthread_mutex_lock(&lock);
    bool answer = stop;
    pthread_mutex_unlock(&lock);
    return answer;
}

static void *napping(void *unused) {
    pthread_mutex_lock(&lock);
    stop = false;
    pthread_mutex_unlock(&lock);
    while (!is_stopped())
        usleep(1000);
    return unused;
}

static void *busy(void *unused) {
    while (!is_stopped())
        ;
    return unused;
}

int main(void) {
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, napping, NULL);
    pthread_create(&threads[1], NULL, busy, NULL);
    pthread_mutex_lock(&lock);
    stop = true;
    pthread_mutex_unlock(&lock);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    return 0;
}
