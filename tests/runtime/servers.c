// Programs that wait for somebody outside. Nothing is wrong with them but that nobody comes; the argument says
// for what they wait.
#include <arpa/inet.h>
#include <assert.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t work = PTHREAD_COND_INITIALIZER;
static sem_t served;
static int jobs, beats;

static int listening(void)
{
    struct sockaddr_in name = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert(bind(fd, (struct sockaddr *)&name, sizeof name) == 0 && listen(fd, 4) == 0);
    return fd;
}

/* Waits for jobs, which nobody has. */
static void *serve(void *arg)
{
    pthread_mutex_lock(&mutex);
    while (jobs == 0)
        pthread_cond_wait(&work, &mutex);
    pthread_mutex_unlock(&mutex);
    return arg;
}

/* Looks after things four times a second, for ever. */
static void *beat(void *arg)
{
    for (;;) {
        struct timespec quarter = {0, 250000000};
        nanosleep(&quarter, NULL);
        pthread_mutex_lock(&mutex);
        beats++;
        pthread_mutex_unlock(&mutex);
    }
    return arg;
}

static void *take(void *fd)
{
    accept(*(int *)fd, NULL, NULL);
    sem_post(&served);
    return NULL;
}

static void take_connections(void)
{
    assert(accept(listening(), NULL, NULL) == -1);
}

static void poll_connections(void)
{
    struct pollfd asked = {.fd = listening(), .events = POLLIN};
    poll(&asked, 1, -1);
}

static void wait_for_signal(void)
{
    sigset_t signals;
    int signal;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &signals, NULL);
    sigwait(&signals, &signal);
}

/* Another thread takes the connections. */
static void leave_it_to_another(void)
{
    pthread_t taker;
    int fd = listening();
    pthread_create(&taker, NULL, take, &fd);
    sem_wait(&served);
}

/* Says that it is done, once, whether or not somebody listens. */
static void *say(void *arg)
{
    pthread_mutex_lock(&mutex);
    pthread_cond_signal(&work);
    pthread_mutex_unlock(&mutex);
    return arg;
}

/* A wakeup that may be lost: with somebody at the door, the program hangs all the same. */
static void lose_wakeup(void)
{
    pthread_t taker, sayer;
    int fd = listening();
    pthread_create(&taker, NULL, take, &fd);
    pthread_create(&sayer, NULL, say, NULL);
    pthread_mutex_lock(&mutex);
    pthread_cond_wait(&work, &mutex);
    pthread_mutex_unlock(&mutex);
}

static const struct {
    const char *name;
    void (*run)(void);
} modes[] = {
    {"take_connections", take_connections},
    {"poll_connections", poll_connections},
    {"wait_for_signal", wait_for_signal},
    {"leave_it_to_another", leave_it_to_another},
    {"lose_wakeup", lose_wakeup},
};

int main(int words, char **word)
{
    for (size_t i = 0; words > 1 && i < sizeof modes / sizeof *modes; i++)
        if (!strcmp(word[1], modes[i].name)) {
            pthread_t threads[2];
            if (modes[i].run != lose_wakeup)
                pthread_create(&threads[0], NULL, serve, NULL);
            pthread_create(&threads[1], NULL, beat, NULL);
            modes[i].run();
        }
    return 0;
}
