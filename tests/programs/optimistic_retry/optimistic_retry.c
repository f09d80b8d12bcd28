// A seat is sold without a lock: a sale looks at the hall, works out the new state and puts it in place if
// nobody has changed the hall meanwhile. The box office keeps a note in the same word.
//
// What is wrong: a sale is tried twice, and sell() returns as if it had succeeded when the second attempt
// failed too. It takes a note in between at both attempts: four preemptions.
// still wrong: gcc -O0
// expect kind: atomicity-violation
// expect cause 1: unsigned seen = atomic_load(&hall.state);
// expect cause 2: if (atomic_compare_exchange_strong(&hall.state, &seen, with_sale(seen)))
// expect interference: while (!atomic_compare_exchange_strong(&hall.state, &before, with_note(before, note)))

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

enum { ATTEMPTS = 2, NOTES = 3, SOLD = 0xff };

// The lower byte counts sold seats, the rest numbers the last note.
struct hall {
    _Atomic unsigned state;
};

static struct hall hall;

static unsigned with_note(unsigned state, unsigned note)
{
    return note << 8 | (state & SOLD);
}

static unsigned with_sale(unsigned state)
{
    return (state & ~(unsigned)SOLD) | ((state & SOLD) + 1);
}

static void sell(void)
{
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
        unsigned seen = atomic_load(&hall.state);
        if (atomic_compare_exchange_strong(&hall.state, &seen, with_sale(seen)))
            return;
    }
}

static void *sell_seat(void *arg)
{
    sell();
    return arg;
}

static void *write_notes(void *arg)
{
    for (unsigned note = 1; note <= NOTES; note++) {
        unsigned before = atomic_load(&hall.state);
        while (!atomic_compare_exchange_strong(&hall.state, &before, with_note(before, note)))
            continue;
    }
    return arg;
}

int main(void)
{
    pthread_t seller, office;

    pthread_create(&seller, NULL, sell_seat, NULL);
    pthread_create(&office, NULL, write_notes, NULL);
    pthread_join(seller, NULL);
    pthread_join(office, NULL);

    unsigned sold = atomic_load(&hall.state) & SOLD;
    printf("%u seat sold\n", sold);
    assert(sold == 1);
    return 0;
}
