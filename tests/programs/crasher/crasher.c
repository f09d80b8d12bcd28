// Five workers fill in a shared record; the first one that is done with its share takes the record away.
// How much is filled in: ./crasher [ROUNDS].
//
// What is wrong: finish() looks whether the record is still there in one critical section and notes its
// last entry in the next. A worker in between has taken the record away.
//
// After the "crasher" program of the literature on schedules that fail.
//
// expect kind: atomicity-violation
// expect cause 1: bool there = current != NULL;
// expect cause 2: assert(current != NULL);
// expect interference: current = NULL;

#include <assert.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

enum { WORKERS = 5, ROUNDS = 7 };

struct record {
    int entries;
    int largest;
    int last;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct record record = {0, 0, 0};
static struct record *current = &record;
static int done;
static int rounds = ROUNDS;

static void fill_in(int value)
{
    pthread_mutex_lock(&lock);
    record.entries++;
    if (record.largest < value)
        record.largest = value;
    pthread_mutex_unlock(&lock);
}

static void finish(int value)
{
    pthread_mutex_lock(&lock);
    bool there = current != NULL;
    pthread_mutex_unlock(&lock);
    if (!there)
        return;

    pthread_mutex_lock(&lock);
    assert(current != NULL);
    current->last = value;
    pthread_mutex_unlock(&lock);
}

static void take_away(void)
{
    pthread_mutex_lock(&lock);
    done++;
    if (done == 1)
        current = NULL;
    pthread_mutex_unlock(&lock);
}

static void *work(void *arg)
{
    int me = *(int *)arg;
    for (int round = 0; round < rounds; round++)
        fill_in(me + WORKERS * (round % 3));
    finish(me);
    take_away();
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t workers[WORKERS];
    int numbers[WORKERS];

    if (argc > 1)
        rounds = atoi(argv[1]);
    for (int i = 0; i < WORKERS; i++) {
        numbers[i] = i + 1;
        pthread_create(&workers[i], NULL, work, &numbers[i]);
    }
    for (int i = 0; i < WORKERS; i++)
        pthread_join(workers[i], NULL);
    printf("%d entries, the largest is %d\n", record.entries, record.largest);
    assert(record.entries == WORKERS * rounds);
    return 0;
}
