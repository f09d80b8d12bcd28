// The time of day as a string, which all threads of a web server bring up to date.
//
// What is wrong: a thread empties the string and fills it again without a lock. Two threads that do so at
// the same time fill it twice.
//
// After a bug of the Cherokee web server 0.9.2.
//
// expect kind: atomicity-violation
// expect cause: now.length = 0;
// expect cause: now.text[now.length] = digit;
// expect cause: now.length += 1;
// expect interference: now.length = 0;
// expect interference: now.length += 1;

#include <assert.h>
#include <pthread.h>

static struct {
    int length;
    int updates;
    char text[8];
} now;

static void add(char digit)
{
    now.text[now.length] = digit;
    now.length += 1;
}

static void update(char digit)
{
    now.length = 0;
    add(digit);
    now.updates++;
}

static void *serve(void *arg)
{
    update('7');
    return arg;
}

int main(void)
{
    pthread_t threads[2];

    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, serve, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    assert(now.length == 1);
    return 0;
}
