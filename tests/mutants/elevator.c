// One lift, several people. The cabin is a state machine that one thread drives; people press a button, wait
// for the doors on their floor, ride, and get out.
#include <assert.h>
#include <pthread.h>
#include <stdbool.h>

enum { FLOORS = 4, PEOPLE = 3, CAPACITY = 2 };

typedef enum { IDLE, MOVING, DOORS_OPEN, OUT_OF_SERVICE } mode_t_;

typedef struct {
    pthread_mutex_t mutex;
    pthread_cond_t called;
    pthread_cond_t doors;
    pthread_cond_t boarded;
    mode_t_ mode;
    int floor;
    int riders;
    int waiting[FLOORS];
    int leaving[FLOORS];
    int trips;
    int stops;
    bool shutdown;
} lift_t;

static lift_t lift = {
    .mutex = PTHREAD_MUTEX_INITIALIZER,
    .called = PTHREAD_COND_INITIALIZER,
    .doors = PTHREAD_COND_INITIALIZER,
    .boarded = PTHREAD_COND_INITIALIZER,
    .mode = IDLE,
};

typedef struct {
    pthread_t thread;
    int from, to;
    bool arrived;
} person_t;

static bool wanted(const lift_t *l, int floor)
{
    bool can_board = l->waiting[floor] > 0 && l->riders < CAPACITY;
    return can_board || l->leaving[floor] > 0;
}

static int next_stop(const lift_t *l)
{
    for (int distance = 0; distance < FLOORS; distance++) {
        if (l->floor + distance < FLOORS && wanted(l, l->floor + distance))
            return l->floor + distance;
        if (l->floor - distance >= 0 && wanted(l, l->floor - distance))
            return l->floor - distance;
    }
    return -1;
}

static void stop_at(lift_t *l, int floor)
{
    if (l->floor != floor) {
        l->mode = MOVING;
        l->floor = floor;
    }
    l->mode = DOORS_OPEN;
    l->stops++;
    pthread_cond_broadcast(&l->doors);
    while (wanted(l, floor))
        pthread_cond_wait(&l->boarded, &l->mutex);
    l->mode = IDLE;
}

static void *drive(void *arg)
{
    lift_t *l = arg;
    pthread_mutex_lock(&l->mutex);
    for (;;) {
        int floor = next_stop(l);
        if (floor >= 0) {
            stop_at(l, floor);
            continue;
        }
        if (l->shutdown)
            break;
        pthread_cond_wait(&l->called, &l->mutex);
    }
    l->mode = OUT_OF_SERVICE;
    pthread_mutex_unlock(&l->mutex);
    return NULL;
}

static void board(lift_t *l, int from, int to)
{
    pthread_mutex_lock(&l->mutex);
    l->waiting[from]++;
    pthread_cond_signal(&l->called);
    while (l->mode != DOORS_OPEN || l->floor != from || l->riders == CAPACITY)
        pthread_cond_wait(&l->doors, &l->mutex);
    l->waiting[from]--;
    l->riders++;
    assert(l->riders <= CAPACITY);
    l->leaving[to]++;
    pthread_cond_signal(&l->boarded);
    pthread_mutex_unlock(&l->mutex);
}

static void leave(lift_t *l, int to)
{
    pthread_mutex_lock(&l->mutex);
    pthread_cond_signal(&l->called);
    while (l->mode != DOORS_OPEN || l->floor != to)
        pthread_cond_wait(&l->doors, &l->mutex);
    assert(l->riders > 0);
    l->riders--;
    l->leaving[to]--;
    l->trips++;
    pthread_cond_broadcast(&l->doors);
    pthread_cond_signal(&l->boarded);
    pthread_mutex_unlock(&l->mutex);
}

static void *ride(void *arg)
{
    person_t *self = arg;
    board(&lift, self->from, self->to);
    leave(&lift, self->to);
    self->arrived = true;
    return NULL;
}

int main(void)
{
    person_t people[PEOPLE] = { { .from = 0, .to = 3 }, { .from = 2, .to = 0 }, { .from = 0, .to = 1 } };
    pthread_t driver;

    pthread_create(&driver, NULL, drive, &lift);
    for (int i = 0; i < PEOPLE; i++)
        pthread_create(&people[i].thread, NULL, ride, &people[i]);
    for (int i = 0; i < PEOPLE; i++)
        pthread_join(people[i].thread, NULL);

    pthread_mutex_lock(&lift.mutex);
    lift.shutdown = true;
    pthread_cond_signal(&lift.called);
    pthread_mutex_unlock(&lift.mutex);
    pthread_join(driver, NULL);

    for (int i = 0; i < PEOPLE; i++)
        assert(people[i].arrived);
    assert(lift.mode == OUT_OF_SERVICE);
    assert(lift.trips == PEOPLE);
    assert(lift.riders == 0);
    for (int i = 0; i < FLOORS; i++)
        assert(lift.waiting[i] == 0 && lift.leaving[i] == 0);
    return 0;
}
