// A game deals each player the next number, and every number only once.
//
// What is wrong: deal() asks whether a number is still free under the lock, and marks it as dealt
// without. Another player is dealt the same number in between.
//
// After "BuggyProgram" of the ConTest benchmark of concurrent programs, in which each thread generates
// numbers that are to be different.
//
// expect kind: atomicity-violation
// expect cause 1: bool is_free = !game.dealt[number];
// expect cause 2: game.dealt[number] = true;
// expect interference: game.dealt[number] = true;

#include <assert.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>

enum { PLAYERS = 3, NUMBERS = 8 };

struct game {
    pthread_mutex_t lock;
    bool dealt[NUMBERS];
};

static struct game game = {.lock = PTHREAD_MUTEX_INITIALIZER};
static int hands[PLAYERS];

static bool can_be_dealt(int number)
{
    pthread_mutex_lock(&game.lock);
    bool is_free = !game.dealt[number];
    pthread_mutex_unlock(&game.lock);
    return is_free;
}

static int deal(int from)
{
    for (int i = 0; i < NUMBERS; i++) {
        int number = (from + i) % NUMBERS;
        if (can_be_dealt(number)) {
            game.dealt[number] = true;
            return number;
        }
    }
    return -1;
}

static void *player(void *arg)
{
    int *hand = arg;
    *hand = deal(5);
    return NULL;
}

int main(void)
{
    pthread_t players[PLAYERS];

    for (int i = 0; i < PLAYERS; i++)
        pthread_create(&players[i], NULL, player, &hands[i]);
    for (int i = 0; i < PLAYERS; i++)
        pthread_join(players[i], NULL);

    for (int i = 0; i < PLAYERS; i++)
        printf("player %d has %d\n", i, hands[i]);
    assert(hands[0] != hands[1]);
    assert(hands[0] != hands[2]);
    assert(hands[1] != hands[2]);
    return 0;
}
