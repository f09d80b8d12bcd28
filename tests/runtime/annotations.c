/* What a program can tell the scheduler by unsnarl.h: the first argument selects one of the kinds. */
#include <assert.h>
#include <pthread.h>
#include <string.h>
#include <unsnarl.h>

static int is_atomic;
static int is_published_early;
static volatile int count;
static volatile int ready;
static volatile int data;

static void *add(void *arg)
{
    if (is_atomic)
        unsnarl_atomic_begin();
    count++;
    if (is_atomic)
        unsnarl_atomic_end();
    return arg;
}

static void *publish(void *arg)
{
    if (is_published_early)
        ready = 1;
    data = 42;
    ready = 1;
    return arg;
}

static void *consume(void *arg)
{
    int seen = ready;
    unsnarl_assume(seen);
    assert(data == 42);
    return arg;
}

static void run(void *(*first)(void *), void *(*second)(void *))
{
    pthread_t one, other;
    pthread_create(&one, 0, first, 0);
    pthread_create(&other, 0, second, 0);
    pthread_join(one, 0);
    pthread_join(other, 0);
}

int main(int argc, char **argv)
{
    const char *kind = argc > 1 ? argv[1] : "";
    is_atomic = !strcmp(kind, "atomic");
    is_published_early = !strcmp(kind, "assume-early");
    if (is_atomic || !strcmp(kind, "plain")) {
        run(add, add);
        assert(count == 2);
    } else if (!strcmp(kind, "choose")) {
        assert(unsnarl_choose(150) != 149);
    } else if (!strncmp(kind, "assume", 6)) {
        run(consume, publish);
    } else if (!strcmp(kind, "never")) {
        unsnarl_assume(0);
    } else if (!strcmp(kind, "unbalanced")) {
        unsnarl_atomic_end();
    }
    return 0;
}
