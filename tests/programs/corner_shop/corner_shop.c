// A shop with a supplier and customers, who take an item when there is one.
//
// What is wrong: a customer asks whether the shop is empty in one critical section and takes an item in
// another. The last item may be gone by then.
//
// After the program "Shop" of the ConTest benchmark of concurrent programs.
//
// expect kind: atomicity-violation
// expect cause 1: bool is_empty = shop.items == 0;
// expect cause 2: assert(shop.items > 0);
// expect cause 2: int item = shop.shelf[--shop.items];
// expect interference: int item = shop.shelf[--shop.items];

#include <assert.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>

enum { SHELF = 3, CUSTOMERS = 2 };

struct shop {
    pthread_mutex_t lock;
    int items;
    int shelf[SHELF];
};

static struct shop shop = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void fill_shelf(void)
{
    pthread_mutex_lock(&shop.lock);
    while (shop.items < SHELF)
        shop.shelf[shop.items++] = 100;
    pthread_mutex_unlock(&shop.lock);
}

static bool is_sold_out(void)
{
    pthread_mutex_lock(&shop.lock);
    bool is_empty = shop.items == 0;
    pthread_mutex_unlock(&shop.lock);
    return is_empty;
}

static int take_item(void)
{
    pthread_mutex_lock(&shop.lock);
    assert(shop.items > 0);
    int item = shop.shelf[--shop.items];
    pthread_mutex_unlock(&shop.lock);
    return item;
}

static void *supplier(void *arg)
{
    (void)arg;
    fill_shelf();
    return NULL;
}

static void *customer(void *arg)
{
    int *bought = arg;
    for (int visit = 0; visit < 2; visit++) {
        if (!is_sold_out())
            *bought += take_item();
    }
    return NULL;
}

int main(void)
{
    pthread_t supply, customers[CUSTOMERS];
    int bought[CUSTOMERS] = {0};

    pthread_create(&supply, NULL, supplier, NULL);
    for (int i = 0; i < CUSTOMERS; i++)
        pthread_create(&customers[i], NULL, customer, &bought[i]);
    pthread_join(supply, NULL);
    for (int i = 0; i < CUSTOMERS; i++)
        pthread_join(customers[i], NULL);

    printf("%d and %d were bought\n", bought[0], bought[1]);
    return 0;
}
