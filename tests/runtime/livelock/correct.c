/* Threads that look like ones that spin for ever, and do not: they count where nobody sees it, wait for
   somebody slow, for a time, for a number, or for a signal. */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>

static volatile int flag;
static atomic_int turn, version, data[2];
static long table[64];

/* Gives up after many looks at a flag that nobody sets. */
static void *patient(void *unused) {
    register long looks = 0;
    while (!flag && looks < 35000)
        looks++;
    return unused;
}

/* Adds up the same few numbers, again and again. */
static void *reader(void *sum) {
    register long all = 0;
    for (int i = 0; i < 35000; i++)
        all += ((volatile long *)table)[i & 7];
    *(long *)sum = all;
    return NULL;
}

/* Waits for its turn, which comes after long work. */
static void *waiter(void *unused) {
    while (atomic_load(&turn) == 0)
        ;
    return unused;
}

static void *worker(void *unused) {
    register long all = 0;
    for (register int i = 0; i < 35000; i++)
        all += ((volatile long *)table)[i & 63];
    table[63] = all;
    atomic_store(&turn, 1);
    return unused;
}

/* Reads two numbers that belong together while somebody writes them. */
static void *sequence(void *unused) {
    for (int good = 0; good < 200;) {
        int before = atomic_load(&version);
        int one = atomic_load(&data[0]), other = atomic_load(&data[1]);
        if (before % 2 == 0 && before == atomic_load(&version) && one == other)
            good++;
    }
    return unused;
}

static void *writer(void *unused) {
    for (int i = 0; i < 50; i++) {
        atomic_fetch_add(&version, 1);
        atomic_fetch_add(&data[0], 1);
        atomic_fetch_add(&data[1], 1);
        atomic_fetch_add(&version, 1);
    }
    return unused;
}

/* Waits for a point in time. */
static void *clockwatcher(void *unused) {
    struct timespec begin, now;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    do {
        sched_yield();
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while ((now.tv_sec - begin.tv_sec) * 1000000000L + now.tv_nsec - begin.tv_nsec < 10000000L);
    return unused;
}

static volatile sig_atomic_t rang;

static void ring(int unused) {
    (void)unused;
    rang = 1;
}

/* Waits for a number that comes late, from a state that only the C library knows. */
static void *gambler(void *unused) {
    while (rand() % 9000 != 7)
        sched_yield();
    return unused;
}

int main(void) {
    void *(*const jobs[])(void *) = {patient, reader, waiter, worker, sequence, writer, clockwatcher, gambler};
    enum { JOBS = sizeof jobs / sizeof *jobs };
    static long sum;
    const struct itimerval soon = {{0, 0}, {0, 20000}};
    pthread_t threads[JOBS];

    for (int i = 0; i < JOBS; i++) {
        pthread_create(&threads[i], NULL, jobs[i], &sum);
        if (i == 1) {
            pthread_join(threads[0], NULL);
            pthread_join(threads[1], NULL);
        }
    }
    for (int i = 2; i < JOBS; i++)
        pthread_join(threads[i], NULL);
    signal(SIGALRM, ring);
    setitimer(ITIMER_REAL, &soon, NULL);
    while (!rang)
        sched_yield();
    return 0;
}
