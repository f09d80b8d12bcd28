// An election: polling stations count votes and report them; the board publishes a result as soon as all stations have
// reported, and observers wait for it.
#include <assert.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <threads.h>

enum { STATIONS = 2, PARTIES = 3, BALLOTS = 4, OBSERVERS = 2 };

typedef struct {
    int votes[PARTIES];
    int turnout;
    int winner;
} result;

static struct {
    mtx_t lock;
    cnd_t complete;
    result sum;
    int reported;
    bool announced;
} board;

static _Atomic(result *) published;
static atomic_int invalid;
static atomic_bool recount_wanted;
static atomic_int readers;

static const int ballots[STATIONS][BALLOTS] = {
    { 0, 1, 1, 7 },
    { 2, 1, 0, 0 },
};

static void count(const int *papers, result *own)
{
    memset(own, 0, sizeof *own);
    for (int i = 0; i < BALLOTS; i++) {
        if (papers[i] >= PARTIES) {
            atomic_fetch_add(&invalid, 1);
            continue;
        }
        own->votes[papers[i]]++;
        own->turnout++;
    }
}

static bool report(const result *own)
{
    bool last;

    mtx_lock(&board.lock);
    for (int party = 0; party < PARTIES; party++)
        board.sum.votes[party] += own->votes[party];
    board.sum.turnout += own->turnout;
    board.reported++;
    last = board.reported == STATIONS;
    mtx_unlock(&board.lock);
    return last;
}

static int leading(const result *r)
{
    int best = 0;

    for (int party = 1; party < PARTIES; party++)
        if (r->votes[party] > r->votes[best])
            best = party;
    return best;
}

static void announce(void)
{
    result *final = malloc(sizeof *final);

    mtx_lock(&board.lock);
    *final = board.sum;
    mtx_unlock(&board.lock);
    final->winner = leading(final);
    bool close = final->votes[0] == final->votes[1];
    atomic_store(&recount_wanted, close);
    atomic_store(&published, final);

    mtx_lock(&board.lock);
    board.announced = true;
    cnd_broadcast(&board.complete);
    mtx_unlock(&board.lock);
}

static int station(void *arg)
{
    result own;

    count(arg, &own);
    if (report(&own))
        announce();
    return own.turnout;
}

static int observer(void *arg)
{
    int *seen = arg;

    mtx_lock(&board.lock);
    while (!board.announced)
        cnd_wait(&board.complete, &board.lock);
    mtx_unlock(&board.lock);
    const result *final = atomic_load(&published);
    assert(final != NULL);
    int votes = 0;
    for (int party = 0; party < PARTIES; party++)
        votes += final->votes[party];
    assert(votes == final->turnout);
    if (atomic_load(&recount_wanted))
        *seen = final->winner;
    atomic_fetch_add(&readers, 1);
    return 0;
}

static int press(void *unused)
{
    (void)unused;
    const result *final;

    while ((final = atomic_load(&published)) == NULL)
        thrd_yield();
    assert(final->turnout == 7);
    assert(final->winner == 0);
    atomic_fetch_add(&readers, 1);
    return 0;
}

int main(void)
{
    thrd_t stations[STATIONS], observers[OBSERVERS], reporter;
    int seen[OBSERVERS] = { -1, -1 }, turnout = 0, part;

    mtx_init(&board.lock, mtx_plain);
    cnd_init(&board.complete);
    thrd_create(&reporter, press, NULL);
    for (int i = 0; i < OBSERVERS; i++)
        thrd_create(&observers[i], observer, &seen[i]);
    for (int i = 0; i < STATIONS; i++)
        thrd_create(&stations[i], station, (void *)ballots[i]);
    for (int i = 0; i < STATIONS; i++) {
        thrd_join(stations[i], &part);
        turnout += part;
    }
    for (int i = 0; i < OBSERVERS; i++)
        thrd_join(observers[i], NULL);
    thrd_join(reporter, NULL);

    result *final = atomic_load(&published);
    assert(final->turnout == turnout);
    assert(atomic_load(&invalid) == 1);
    assert(atomic_load(&readers) == OBSERVERS + 1);
    for (int i = 0; i < OBSERVERS; i++)
        assert(seen[i] == 0);
    free(final);
    cnd_destroy(&board.complete);
    mtx_destroy(&board.lock);
    return 0;
}
