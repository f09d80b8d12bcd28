// All empty strings share one text, of which the references are counted.
//
// What is wrong: erasing an empty string sets the count of the shared text to nothing, whoever refers to it.
//
// After bug 40518 of libstdc++ (std::string).
//
// expect kind: atomicity-violation
// expect cause: empty.references++;
// expect cause: empty.references--;
// expect interference: empty.references = 0;

#include <assert.h>
#include <pthread.h>

static struct {
    int references;
    int length;
} empty;

static void *erase(void *arg)
{
    empty.length = 0;
    empty.references = 0;
    return arg;
}

static void *copy_and_forget(void *arg)
{
    empty.references++;
    empty.references--;
    return arg;
}

int main(void)
{
    pthread_t threads[2];

    pthread_create(&threads[0], NULL, erase, NULL);
    pthread_create(&threads[1], NULL, copy_and_forget, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    assert(empty.references >= 0);
    return 0;
}
