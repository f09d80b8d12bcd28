// Loaders fill a part each of a table that a reader adds up as soon as all of them have said that they
// are done.
//
// What is wrong: a loader says that it is done before it has stored its value. The reader that sees all
// of them done may read a part that is still empty.
//
// After the program "Loader" of the ConTest benchmark of concurrent programs, where a sleep was to make
// sure that everything is initialized.
//
// expect kind: order-violation
// expect cause: sum += table[i];
// expect interference: table[number] = 10 * (number + 1);
// expect also: done++;

#include <assert.h>
#include <pthread.h>
#include <stdio.h>

enum { PARTS = 2 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t all_done = PTHREAD_COND_INITIALIZER;
static int done;
static int table[PARTS];

static void say_done(void)
{
    pthread_mutex_lock(&lock);
    done++;
    pthread_cond_signal(&all_done);
    pthread_mutex_unlock(&lock);
}

static void *loader(void *arg)
{
    int number = *(int *)arg;

    say_done();
    table[number] = 10 * (number + 1);
    return NULL;
}

static int add_up(void)
{
    int sum = 0;

    pthread_mutex_lock(&lock);
    while (done < PARTS)
        pthread_cond_wait(&all_done, &lock);
    pthread_mutex_unlock(&lock);
    for (int i = 0; i < PARTS; i++)
        sum += table[i];
    return sum;
}

int main(void)
{
    pthread_t loaders[PARTS];
    int numbers[PARTS];

    for (int i = 0; i < PARTS; i++) {
        numbers[i] = i;
        pthread_create(&loaders[i], NULL, loader, &numbers[i]);
    }
    int sum = add_up();
    for (int i = 0; i < PARTS; i++)
        pthread_join(loaders[i], NULL);

    printf("the sum is %d\n", sum);
    assert(sum == 30);
    return 0;
}
