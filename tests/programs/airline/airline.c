// An airline sells tickets: main sends out the buyers one by one, and stops when the plane is full.
// There is one buyer more than there are seats: ./airline [BUYERS].
//
// What is wrong: a buyer who was sent out has not been counted yet when main() looks whether sales have
// stopped. One more buyer is sent out than there are seats.
//
// After the "Airlines" program of the ConTest benchmarks.
//
// expect kind: order-violation
// expect cause: bool full = stop_sales;
// expect interference: stop_sales = true;
// expect interference: sold++;
// expect also: if (sold == seats)

#include <assert.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

enum { BUYERS = 7, MOST = 512 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int seats;
static int sold;
static bool stop_sales;

static void *buy(void *arg)
{
    pthread_mutex_lock(&lock);
    sold++;
    if (sold == seats)
        stop_sales = true;
    pthread_mutex_unlock(&lock);
    return arg;
}

static bool is_full(void)
{
    pthread_mutex_lock(&lock);
    bool full = stop_sales;
    pthread_mutex_unlock(&lock);
    return full;
}

int main(int argc, char **argv)
{
    pthread_t buyers[MOST];
    int waiting = argc > 1 ? atoi(argv[1]) : BUYERS;
    int sent = 0;

    if (waiting < 2 || waiting > MOST)
        return 2;
    seats = waiting - 1;
    while (sent < waiting && !is_full()) {
        pthread_create(&buyers[sent], NULL, buy, NULL);
        sent++;
    }
    for (int i = 0; i < sent; i++)
        pthread_join(buyers[i], NULL);

    printf("%d of %d seats are sold\n", sold, seats);
    assert(sold <= seats);
    return 0;
}
