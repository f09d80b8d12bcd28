// The process ends while another thread goes on. The first argument says how it ends; the thread fails if it
// comes so far. With a second argument the thread does what need not end before the process does.
#include <assert.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static const char *how;
static int *table;
static int sum, beats;
static sem_t asked;

static int is(const char *name)
{
    return !strcmp(how, name);
}

static void *fails(void *argument)
{
    (void)argument;
    for (int i = 0; i < 30; i++) {
        pthread_mutex_lock(&lock);
        sum += table[i % 8];
        pthread_mutex_unlock(&lock);
        if (i % 10 == 9)
            usleep(50);
    }
    assert(sum == 0);
    return NULL;
}

static void *beats_for_ever(void *argument)
{
    (void)argument;
    for (;;) {
        beats++;
        usleep(1000);
    }
}

static void *waits_for_ever(void *argument)
{
    (void)argument;
    pthread_mutex_lock(&lock);
    for (;;)
        pthread_cond_wait(&never, &lock);
}

static void *spins_for_ever(void *argument)
{
    (void)argument;
    for (;;)
        __atomic_fetch_add(&beats, 1, __ATOMIC_RELAXED);
}

static void *ends(void *argument)
{
    (void)argument;
    exit(0);
}

static void *(*routine(const char *name))(void *)
{
    if (!name)
        return fails;
    if (!strcmp(name, "beats"))
        return beats_for_ever;
    if (!strcmp(name, "waits"))
        return waits_for_ever;
    return !strcmp(name, "spins") ? spins_for_ever : ends;
}

/* Fails as soon as it may, in its own way. */
static void *fails_when_asked(void *argument)
{
    sem_wait(&asked);
    sum++;
    assert(!"the thread fails");
    return argument;
}

/* Nothing that threads share lies between the call that lets the other go on and the end. */
static void fail_beside(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, fails_when_asked, NULL);
    sem_post(&asked);
    if (is("abort_beside"))
        abort();
    assert(!"the program fails");
}

static void end(void)
{
    char *const words[] = {"true", NULL};
    if (is("exit"))
        exit(0);
    if (is("_exit"))
        _exit(0);
    if (is("_Exit"))
        _Exit(0);
    if (is("quick_exit"))
        quick_exit(0);
    if (is("system_call"))
        syscall(SYS_exit_group, 0);
    if (is("exec"))
        execvp("true", words);
    if (is("missing_exec"))
        execv("/missing", words);
}

static void forget(void)
{
    int *last = table;
    table = NULL;
    free(last);
}

int main(int count, char **words)
{
    pthread_t thread;
    how = words[1];
    if (is("assert_beside") || is("abort_beside"))
        fail_beside();
    table = calloc(8, sizeof *table);
    table[7] = 1;
    if (is("handler"))
        atexit(forget);
    pthread_create(&thread, NULL, routine(count > 2 ? words[2] : NULL), NULL);
    if (is("detached"))
        pthread_detach(thread);
    end();
    return 0;
}
