// Strings share their text until one of them is written to. A string that somebody may write to directly
// is marked, and no longer shared.
//
// What is wrong: a copy looks at the mark, and a writer at the number of sharers, but neither keeps the
// other one out. The text ends up shared and written to.
//
// After bug 21334 of libstdc++ (std::string is not thread-safe).
//
// expect kind: atomicity-violation multi-variable-atomicity-violation order-violation
// expect cause: if (text.sharers == 0) {
// expect cause: text.is_open = 1;
// expect cause: if (!text.is_open)
// expect cause: text.sharers++;
// expect interference: text.sharers++;
// expect interference: text.is_open = 1;
// expect interference: if (text.sharers == 0) {
// expect interference: if (!text.is_open)

#include <assert.h>
#include <pthread.h>

static struct {
    int sharers;
    int is_open;
    char first;
} text = {0, 0, 'a'};

static void *copy(void *arg)
{
    if (!text.is_open)
        text.sharers++;
    return arg;
}

static void *write_first(void *arg)
{
    if (text.sharers == 0) {
        text.is_open = 1;
        text.first = 'b';
    }
    return arg;
}

int main(void)
{
    pthread_t threads[2];

    pthread_create(&threads[0], NULL, copy, NULL);
    pthread_create(&threads[1], NULL, write_first, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    assert(!(text.sharers && text.is_open));
    return 0;
}
