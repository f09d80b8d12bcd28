// Handlers of the program's own: for signals that it sends itself, for faults that it survives, in
// threads with and without the turn.
#define _GNU_SOURCE
#include <assert.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static int raised, last_signal;
static atomic_int told;
static sigjmp_buf way_out;

static void count(int signal)
{
    raised++;
    last_signal = signal;
}

static void count_with_info(int signal, siginfo_t *info, void *context)
{
    assert(info->si_signo == signal && context);
    raised++;
}

static void leave(int signal)
{
    last_signal = signal;
    siglongjmp(way_out, 1);
}

static void tell(int signal)
{
    told = signal;
}

static void signals_to_self(void)
{
    assert(signal(SIGUSR1, count) == SIG_DFL && signal(SIGUSR1, count) == count);
    raise(SIGUSR1);
    assert(raised == 1 && last_signal == SIGUSR1);
    kill(getpid(), SIGUSR1);
    pthread_kill(pthread_self(), SIGUSR1);
    assert(raised == 3);
    struct sigaction action = {.sa_sigaction = count_with_info, .sa_flags = SA_SIGINFO}, old;
    assert(sigaction(SIGUSR2, &action, NULL) == 0 && sigaction(SIGUSR2, NULL, &old) == 0);
    assert(old.sa_sigaction == count_with_info);
    sigset_t set;
    sigemptyset(&set), sigaddset(&set, SIGUSR2);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    raise(SIGUSR2);
    assert(raised == 3);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    assert(raised == 4);
}

static int faults;

static void faults_survived(void)
{
    signal(SIGSEGV, leave);
    for (faults = 0; faults < 3; faults++)
        if (sigsetjmp(way_out, 1) == 0) {
            *(volatile int *)(ptrdiff_t)(faults * 8) = 1;
            assert(0);
        }
    assert(last_signal == SIGSEGV);
    assert(signal(SIGSEGV, SIG_DFL) == leave);
}

static void *spin(void *arg)
{
    while (!told)
        usleep(10);
    return arg;
}

static void signals_to_others(void)
{
    pthread_t thread;
    signal(SIGALRM, tell);
    pthread_create(&thread, NULL, spin, NULL);
    pthread_kill(thread, SIGALRM);
    pthread_join(thread, NULL);
    assert(told == SIGALRM);
}

static void *wait_for_signal(void *arg)
{
    int signal;
    assert(sigwait(arg, &signal) == 0 && signal == SIGTERM);
    return NULL;
}

static void signals_waited_for(void)
{
    pthread_t thread;
    sigset_t set;
    sigemptyset(&set), sigaddset(&set, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    pthread_create(&thread, NULL, wait_for_signal, &set);
    pthread_kill(thread, SIGTERM);
    pthread_join(thread, NULL);
}

int main(void)
{
    signals_to_self();
    faults_survived();
    signals_to_others();
    signals_waited_for();
    return 0;
}
