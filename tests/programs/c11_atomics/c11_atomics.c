// Customers draw numbers from a ticket machine made of C11 atomics.
//
// What is wrong: each load and each store is atomic, drawing a ticket is not. Two customers can load
// the same number before either stores the next one. One atomic_fetch_add would do.
//
// expect kind: atomicity-violation
// expect cause 1: int ticket = atomic_load(&machine->next);
// expect cause 2: atomic_store(&machine->next, ticket + 1);
// expect interference: atomic_store(&machine->next, ticket + 1);

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

enum { CUSTOMERS = 3 };

struct machine {
    atomic_int next;
    atomic_int refused;
};

struct customer {
    struct machine *machine;
    int ticket;
};

static int draw(struct machine *machine)
{
    int ticket = atomic_load(&machine->next);
    if (ticket >= 100) {
        atomic_fetch_add(&machine->refused, 1);
        return -1;
    }
    atomic_store(&machine->next, ticket + 1);
    return ticket;
}

static void *arrive(void *arg)
{
    struct customer *customer = arg;
    customer->ticket = draw(customer->machine);
    return NULL;
}

int main(void)
{
    static struct machine machine;
    struct customer customers[CUSTOMERS];
    pthread_t threads[CUSTOMERS];

    for (int i = 0; i < CUSTOMERS; i++) {
        customers[i] = (struct customer){&machine, -1};
        pthread_create(&threads[i], NULL, arrive, &customers[i]);
    }
    for (int i = 0; i < CUSTOMERS; i++)
        pthread_join(threads[i], NULL);

    int next = atomic_load(&machine.next);
    printf("next ticket is %d\n", next);
    assert(next == CUSTOMERS);
    return 0;
}
