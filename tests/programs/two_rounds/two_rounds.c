// Two agents meet after each of two rounds.
//
// What is wrong: who waits looks at the number of agents that are still missing. The one that came last goes on, and takes
// part in the next round before the other one has looked: that one sees an agent missing again, and both wait for ever.
//
// After a defect of a library for parallel algorithms (agency).
//
// expect kind: order-violation
// expect cause 1: missing += AGENTS;
// expect cause 2: while (missing != AGENTS)
// expect interference: missing--;

#include <pthread.h>
#include <stdio.h>

enum { AGENTS = 2, ROUNDS = 2 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t complete = PTHREAD_COND_INITIALIZER;
static int missing = AGENTS;
static int sums[AGENTS];

static void meet(void)
{
    pthread_mutex_lock(&lock);
    missing--;
    if (missing == 0) {
        missing += AGENTS;
        pthread_cond_broadcast(&complete);
    } else {
        while (missing != AGENTS)
            pthread_cond_wait(&complete, &lock);
    }
    pthread_mutex_unlock(&lock);
}

static void *agent(void *arg)
{
    int *sum = arg;
    for (int round = 1; round <= ROUNDS; round++) {
        *sum += round;
        meet();
    }
    return NULL;
}

int main(void)
{
    pthread_t agents[AGENTS];
    for (int i = 0; i < AGENTS; i++)
        pthread_create(&agents[i], NULL, agent, &sums[i]);
    for (int i = 0; i < AGENTS; i++)
        pthread_join(agents[i], NULL);
    printf("%d and %d\n", sums[0], sums[1]);
    return 0;
}
