// Guests of a hall sleep on a semaphore until it closes; who closes it wakes as many as have counted themselves.
//
// What is wrong: a guest looks whether the hall is closed and counts itself in another critical section. If it is closed
// in between, one is not woken and sleeps for ever. Nobody holds anything that it waits for: why it sleeps only the
// order of the counts tells.
//
// expect kind: multi-variable-atomicity-violation
// expect cause 1: bool closed = hall.closed;
// expect cause 2: hall.sleepers++;
// expect interference: hall.closed = true;
// expect interference: int sleepers = hall.sleepers;

#include <assert.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>

enum { GUESTS = 2 };

static struct {
    pthread_mutex_t lock;
    sem_t wake;
    bool closed;
    int sleepers;
    int gone;
} hall = { .lock = PTHREAD_MUTEX_INITIALIZER };

static bool is_closed(void)
{
    pthread_mutex_lock(&hall.lock);
    bool closed = hall.closed;
    pthread_mutex_unlock(&hall.lock);
    return closed;
}

static void sleep_until_woken(void)
{
    pthread_mutex_lock(&hall.lock);
    hall.sleepers++;
    pthread_mutex_unlock(&hall.lock);
    sem_wait(&hall.wake);
    pthread_mutex_lock(&hall.lock);
    hall.sleepers--;
    pthread_mutex_unlock(&hall.lock);
}

static void *guest(void *arg)
{
    while (!is_closed())
        sleep_until_woken();
    pthread_mutex_lock(&hall.lock);
    hall.gone++;
    pthread_mutex_unlock(&hall.lock);
    return arg;
}

static void close_hall(void)
{
    pthread_mutex_lock(&hall.lock);
    hall.closed = true;
    int sleepers = hall.sleepers;
    pthread_mutex_unlock(&hall.lock);
    for (int i = 0; i < sleepers; i++)
        sem_post(&hall.wake);
}

int main(void)
{
    pthread_t guests[GUESTS];
    sem_init(&hall.wake, 0, 0);
    for (int i = 0; i < GUESTS; i++)
        pthread_create(&guests[i], NULL, guest, NULL);
    close_hall();
    for (int i = 0; i < GUESTS; i++)
        pthread_join(guests[i], NULL);
    assert(hall.gone == GUESTS);
    return 0;
}
