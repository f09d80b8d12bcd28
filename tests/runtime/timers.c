// Timers of every kind, and calls that a signal interrupts. The argument says which.
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t rings;
static int calls, ends[2];
static sem_t semaphore;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t called = PTHREAD_COND_INITIALIZER;
static const struct itimerval soon = {.it_value = {0, 20000}};
static const struct itimerval often = {{0, 10000}, {0, 10000}};
static const struct itimerspec once = {.it_value = {0, 20000000}};
static const struct itimerspec again = {{0, 10000000}, {0, 10000000}};
static const struct itimerspec late = {.it_value = {1000, 0}};

static void ring(int signal)
{
    rings++;
}

static void post(int signal)
{
    sem_post(&semaphore);
}

static void handle(int signal, void (*handler)(int), int flags)
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
    assert(sigaction(signal, &action, NULL) == 0);
}

static void *spin_until_rung(void *arg)
{
    while (!rings)
        usleep(1000);
    return arg;
}

static void alarms(void)
{
    handle(SIGALRM, ring, SA_RESTART);
    alarm(1);
    spin_until_rung(NULL);
    alarm(1);
    assert(pause() == -1 && errno == EINTR && rings == 2);
    alarm(1);
    assert(sleep(10) > 0 && rings == 3);
    alarm(100);
    unsigned left = alarm(0);
    assert(left > 90 && left <= 100 && alarm(0) == 0);
}

static void interval_timers(void)
{
    struct itimerval now, none = {0};
    handle(SIGALRM, ring, SA_RESTART);
    assert(setitimer(ITIMER_REAL, &often, NULL) == 0);
    while (rings < 3)
        usleep(1000);
    assert(getitimer(ITIMER_REAL, &now) == 0 && now.it_interval.tv_usec == 10000);
    assert(setitimer(ITIMER_REAL, &none, &now) == 0 && now.it_interval.tv_usec == 10000);
    assert(getitimer(ITIMER_REAL, &now) == 0 && !now.it_value.tv_sec && !now.it_value.tv_usec);
}

/* Main waits for the other thread, which waits for the handler: it may run in either. */
static void alarm_while_joining(void)
{
    pthread_t thread;
    handle(SIGALRM, ring, SA_RESTART);
    setitimer(ITIMER_REAL, &soon, NULL);
    pthread_create(&thread, NULL, spin_until_rung, NULL);
    pthread_join(thread, NULL);
}

static void note_value(int signal, siginfo_t *info, void *context)
{
    assert(info->si_code == SI_TIMER && info->si_value.sival_ptr == &calls);
    rings++;
}

static void made_timers(void)
{
    struct sigaction action = {.sa_sigaction = note_value, .sa_flags = SA_SIGINFO};
    sigaction(SIGUSR1, &action, NULL);
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL,
                             .sigev_signo = SIGUSR1,
                             .sigev_value.sival_ptr = &calls};
    struct itimerspec now;
    timer_t timer;
    assert(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0);
    assert(timer_settime(timer, 0, &again, NULL) == 0);
    while (rings < 2)
        usleep(1000);
    assert(timer_gettime(timer, &now) == 0 && now.it_interval.tv_nsec == 10000000);
    assert(timer_getoverrun(timer) >= 0);
    assert(timer_delete(timer) == 0);
}

static void call(union sigval value)
{
    pthread_mutex_lock(&mutex);
    calls += value.sival_int;
    pthread_cond_signal(&called);
    pthread_mutex_unlock(&mutex);
}

static void timer_with_a_thread(void)
{
    struct sigevent event = {
        .sigev_notify = SIGEV_THREAD, .sigev_notify_function = call, .sigev_value.sival_int = 3};
    timer_t timer;
    assert(timer_create(CLOCK_REALTIME, &event, &timer) == 0);
    assert(timer_settime(timer, 0, &again, NULL) == 0);
    pthread_mutex_lock(&mutex);
    while (calls < 6)
        pthread_cond_wait(&called, &mutex);
    pthread_mutex_unlock(&mutex);
    assert(timer_delete(timer) == 0);
}

static void descriptors(void)
{
    uint64_t count = 0, all = 0;
    struct epoll_event event = {.events = EPOLLIN};
    int timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK), set = epoll_create1(0);
    assert(read(timer, &count, sizeof count) == -1 && errno == EAGAIN);
    assert(timerfd_settime(timer, 0, &again, NULL) == 0);
    assert(epoll_ctl(set, EPOLL_CTL_ADD, timer, &event) == 0);
    while (all < 3) {
        assert(epoll_wait(set, &event, 1, -1) == 1);
        assert(read(timer, &count, sizeof count) == sizeof count && count > 0);
        all += count;
    }
    close(timer);
    timer = timerfd_create(CLOCK_MONOTONIC, 0);
    assert(timerfd_settime(timer, 0, &once, NULL) == 0);
    assert(read(timer, &count, sizeof count) == sizeof count && count == 1);
    close(timer);
    close(set);
    int counter = eventfd(2, EFD_SEMAPHORE);
    assert(eventfd_write(counter, 1) == 0);
    for (int i = 0; i < 3; i++)
        assert(eventfd_read(counter, &count) == 0 && count == 1);
    close(counter);
}

/* Nothing but time can end these waits. */
static void long_waits(void)
{
    uint64_t count;
    struct timespec thousand = {1000, 0}, left;
    int timer = timerfd_create(CLOCK_MONOTONIC, 0);
    timerfd_settime(timer, 0, &late, NULL);
    assert(read(timer, &count, sizeof count) == sizeof count && count == 1);
    handle(SIGALRM, ring, SA_RESTART);
    alarm(100);
    assert(nanosleep(&thousand, &left) == -1 && errno == EINTR && left.tv_sec >= 899);
    assert(left.tv_sec <= 900 && rings == 1);
    sigset_t set;
    sigemptyset(&set), sigaddset(&set, SIGUSR2);
    sigprocmask(SIG_BLOCK, &set, NULL);
    assert(sigtimedwait(&set, NULL, &thousand) == -1 && errno == EAGAIN);
}

static void *send_to_process(void *arg)
{
    assert(kill(getpid(), SIGUSR2) == 0);
    return arg;
}

static void waited_for(void)
{
    pthread_t thread;
    struct signalfd_siginfo news;
    struct timespec thousand = {1000, 0};
    int signal;
    sigset_t set;
    sigemptyset(&set), sigaddset(&set, SIGUSR2);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    for (int way = 0; way < 3; way++) {
        pthread_create(&thread, NULL, send_to_process, NULL);
        if (way == 0)
            assert(sigwait(&set, &signal) == 0 && signal == SIGUSR2);
        if (way == 1)
            assert(sigtimedwait(&set, NULL, &thousand) == SIGUSR2);
        if (way == 2) {
            int fd = signalfd(-1, &set, 0);
            assert(read(fd, &news, sizeof news) == sizeof news && news.ssi_signo == SIGUSR2);
            close(fd);
        }
        pthread_join(thread, NULL);
    }
}

/* Waits that are the same in every order: the signal is blocked until it is waited for. */
static void interrupted(void)
{
    char byte;
    struct pollfd wanted = {.fd = ends[0], .events = POLLIN};
    handle(SIGALRM, ring, 0);
    setitimer(ITIMER_REAL, &often, NULL);
    assert(read(ends[0], &byte, 1) == -1 && errno == EINTR);
    assert(poll(&wanted, 1, -1) == -1 && errno == EINTR);
    assert(sem_wait(&semaphore) == -1 && errno == EINTR);
    sigset_t set, before;
    sigemptyset(&set), sigaddset(&set, SIGALRM);
    pthread_sigmask(SIG_BLOCK, &set, &before);
    assert(sigsuspend(&before) == -1 && errno == EINTR);
    setitimer(ITIMER_REAL, &(struct itimerval){0}, NULL);
    handle(SIGALRM, post, SA_RESTART);
    alarm(1);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    assert(sem_wait(&semaphore) == 0);
}

static void *read_byte(void *arg)
{
    char byte;
    assert(read(ends[0], &byte, 1) == 1);
    return arg;
}

static void begun_again(void)
{
    pthread_t thread;
    handle(SIGUSR1, ring, SA_RESTART);
    pthread_create(&thread, NULL, read_byte, NULL);
    assert(pthread_kill(thread, SIGUSR1) == 0);
    assert(write(ends[1], "x", 1) == 1);
    pthread_join(thread, NULL);
    assert(rings == 1);
}

static void not_handled(void)
{
    alarm(1);
    for (;;)
        pause();
}

static const struct {
    const char *name;
    void (*run)(void);
} modes[] = {
    {"alarms", alarms},           {"interval_timers", interval_timers},
    {"joining", alarm_while_joining}, {"made_timers", made_timers},
    {"thread", timer_with_a_thread},  {"descriptors", descriptors},
    {"long_waits", long_waits},   {"waited_for", waited_for},
    {"interrupted", interrupted}, {"begun_again", begun_again},
    {"not_handled", not_handled},
};

int main(int words, char **word)
{
    assert(pipe(ends) == 0 && sem_init(&semaphore, 0, 0) == 0);
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
        if (words > 1 && !strcmp(word[1], modes[i].name)) {
            modes[i].run();
            return 0;
        }
    return 2;
}
