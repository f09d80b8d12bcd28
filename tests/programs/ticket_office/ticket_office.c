// Two clerks sell tickets while a board shows the title of the show.
//
// What is wrong, first: sell() looks at the number of sold tickets in one critical section and sets it in the
// next one. A sale in between is not counted.
//
// What is wrong, second: the board starts before its title is set.
//
// -DFIRST_FIXED and -DSECOND_FIXED build it without the one or the other.
//
// expect kind: atomicity-violation
// expect cause 1: long sold = office.sold;
// expect cause 2: office.sold = sold + 1;
// expect interference: office.sold = sold + 1;
// and expect kind: order-violation
// and expect cause: assert(board.title != NULL);
// and expect interference: board.title = show; // after the thread

#include <assert.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>

enum { CLERKS = 2 };

static struct {
    pthread_mutex_t lock;
    long sold;
} office = {.lock = PTHREAD_MUTEX_INITIALIZER};

static struct {
    pthread_t thread;
    const char *title;
} board;

static void sell(void)
{
    pthread_mutex_lock(&office.lock);
    long sold = office.sold;
#ifndef FIRST_FIXED
    pthread_mutex_unlock(&office.lock);

    pthread_mutex_lock(&office.lock);
#endif
    office.sold = sold + 1;
    pthread_mutex_unlock(&office.lock);
}

static void *clerk(void *arg)
{
    (void)arg;
    sell();
    return NULL;
}

static void *show_title(void *arg)
{
    (void)arg;
    assert(board.title != NULL);
    printf("tonight: %s\n", board.title);
    return NULL;
}

static void open_board(const char *show)
{
#ifdef SECOND_FIXED
    board.title = show;
    pthread_create(&board.thread, NULL, show_title, NULL);
#else
    pthread_create(&board.thread, NULL, show_title, NULL);
    board.title = show; // after the thread
#endif
}

int main(void)
{
    pthread_t clerks[CLERKS];

    open_board("The Tempest");
    for (int i = 0; i < CLERKS; i++)
        pthread_create(&clerks[i], NULL, clerk, NULL);
    for (int i = 0; i < CLERKS; i++)
        pthread_join(clerks[i], NULL);
    pthread_join(board.thread, NULL);
    assert(office.sold == CLERKS);
    return 0;
}
