// A table that is made by whoever needs it first, a flag that is set once it is there, and a count of its
// users that closes it with the last one.
//
// Nothing is wrong.
//
// expect no failure

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

enum { USERS = 3, SIZE = 4 };

static pthread_once_t once = PTHREAD_ONCE_INIT;
static int *squares;
static atomic_int users = USERS;
static atomic_bool ready;
static int made;

static void make_table(void)
{
    squares = malloc(SIZE * sizeof *squares);
    if (squares == NULL)
        abort();
    for (int i = 0; i < SIZE; i++)
        squares[i] = i * i;
    made++;
    atomic_store_explicit(&ready, true, memory_order_release);
}

static void leave(void)
{
    if (atomic_fetch_sub(&users, 1) == 1) {
        free(squares);
        squares = NULL;
    }
}

static void *look_up(void *arg)
{
    int *number = arg;
    if (!atomic_load_explicit(&ready, memory_order_acquire))
        pthread_once(&once, make_table);
    *number = squares[*number];
    leave();
    return NULL;
}

int main(void)
{
    pthread_t threads[USERS];
    int numbers[USERS];

    for (int i = 0; i < USERS; i++) {
        numbers[i] = i + 1;
        pthread_create(&threads[i], NULL, look_up, &numbers[i]);
    }
    for (int i = 0; i < USERS; i++) {
        pthread_join(threads[i], NULL);
        assert(numbers[i] == (i + 1) * (i + 1));
    }
    printf("made %d time\n", made);
    assert(made == 1 && squares == NULL);
    return 0;
}
