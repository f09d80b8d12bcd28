// Workers book seats under a lock until none is left.
//
// What is wrong: the test for the last seat is off by one, so that one seat more is booked than there
// is. The lock is used as it should be; which worker books the seat depends on the order, that it is
// booked does not.
//
// expect kind: sequential

#include <assert.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>

enum { SEATS = 3, WORKERS = 2 };

struct hall {
    pthread_mutex_t lock;
    int free_seats;
    int booked;
};

static struct hall hall = {.lock = PTHREAD_MUTEX_INITIALIZER, .free_seats = SEATS};

static bool book(struct hall *hall)
{
    pthread_mutex_lock(&hall->lock);
    bool seat_left = hall->free_seats >= 0;
    if (seat_left) {
        hall->free_seats--;
        hall->booked++;
    }
    pthread_mutex_unlock(&hall->lock);
    return seat_left;
}

static void *sell(void *arg)
{
    int *sold = arg;
    while (book(&hall))
        (*sold)++;
    return NULL;
}

int main(void)
{
    pthread_t workers[WORKERS];
    int sold[WORKERS] = {0};

    for (int i = 0; i < WORKERS; i++)
        pthread_create(&workers[i], NULL, sell, &sold[i]);
    for (int i = 0; i < WORKERS; i++)
        pthread_join(workers[i], NULL);

    printf("%d and %d sold, %d booked\n", sold[0], sold[1], hall.booked);
    assert(hall.booked == SEATS);
    return 0;
}
