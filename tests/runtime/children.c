// Child processes of a program with threads, made and waited for in every way. The argument says which.
#define _GNU_SOURCE
#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { STEPS = 20 };

extern char **environ;
static char *const shell[] = {"sh", "-c", "exit 4", NULL};
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int shared, in_children;

static void *count(void *arg)
{
    for (int i = 0; i < STEPS; i++) {
        pthread_mutex_lock(&mutex);
        shared++;
        pthread_mutex_unlock(&mutex);
    }
    return arg;
}

static int status_of(pid_t child)
{
    int status;
    assert(child > 0 && waitpid(child, &status, 0) == child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static void lock(void)
{
    pthread_mutex_lock(&mutex);
}

static void unlock(void)
{
    pthread_mutex_unlock(&mutex);
}

static void *count_in_child(void *arg)
{
    pthread_mutex_lock(&mutex);
    in_children++;
    pthread_mutex_unlock(&mutex);
    return arg;
}

static void go_on_with_threads(void)
{
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, count_in_child, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    exit(in_children == 2 ? 6 : 7);
}

static void forks(const char *how)
{
    if (!strcmp(how, "threads"))
        pthread_atfork(lock, unlock, unlock);
    pid_t child = strcmp(how, "_Fork") ? fork() : _Fork();
    if (child == 0) {
        if (!strcmp(how, "threads"))
            go_on_with_threads();
        if (!strcmp(how, "exec"))
            execv("/bin/sh", shell);
        if (!strcmp(how, "abort"))
            abort();
        if (!strcmp(how, "assert"))
            assert(in_children);
        if (!strcmp(how, "fault"))
            *(volatile int *)0 = 1;
        if (!strcmp(how, "exit"))
            exit(3);
        _exit(3);
    }
    int status = status_of(child);
    if (!strcmp(how, "threads"))
        assert(status == 6);
    else if (!strcmp(how, "exec"))
        assert(status == 4);
    else if (!strcmp(how, "abort") || !strcmp(how, "assert"))
        assert(status == -SIGABRT);
    else
        assert(status == (strcmp(how, "fault") ? 3 : -SIGSEGV));
}

static void starts(const char *how)
{
    pid_t child = 0;
    if (!strcmp(how, "vfork")) {
        if ((child = vfork()) == 0) {
            execv("/bin/sh", shell);
            _exit(9);
        }
    } else if (!strcmp(how, "spawn"))
        assert(posix_spawn(&child, "/bin/sh", NULL, NULL, shell, environ) == 0);
    else
        assert(posix_spawnp(&child, "sh", NULL, NULL, shell, environ) == 0);
    assert(status_of(child) == 4);
}

static void runs_shells(void)
{
    char line[16] = "";
    assert(WEXITSTATUS(system("exit 5")) == 5);
    FILE *in = popen("echo hello", "r");
    assert(in && fgets(line, sizeof line, in) && !strcmp(line, "hello\n") && pclose(in) == 0);
    FILE *out = popen("cat >/dev/null", "w");
    assert(out && fprintf(out, "hello\n") == 6 && WEXITSTATUS(pclose(out)) == 0);
}

/* The first process leaves; what it was started for goes on in its child's child. */
static void goes_into_background(pthread_t thread)
{
    pthread_join(thread, NULL);
    if (fork())
        _exit(0);
    setsid();
    if (fork())
        _exit(0);
    sleep(5);
    _exit(0);
}

int main(int words, char **word)
{
    const char *how = word[words - 1];
    pthread_t thread;
    pthread_create(&thread, NULL, count, NULL);
    if (!strcmp(how, "background"))
        goes_into_background(thread);
    if (!strcmp(how, "vfork") || !strncmp(how, "spawn", 5))
        starts(how);
    else if (!strcmp(how, "shell"))
        runs_shells();
    else
        forks(how);
    pthread_join(thread, NULL);
    return shared == STEPS ? 0 : 1;
}
