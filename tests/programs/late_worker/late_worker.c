// Jobs that are given to a thread each, and a sum of what they weigh.
//
// What is wrong: a job is a local variable of the function that starts its thread. A thread that is late
// reads what other calls have put there since: here the parts of a sum, which lie where the job was. The
// function holds a lock for a moment when the thread was created, and returns; nobody waits for the thread
// before.
//
// expect kind: order-violation
// expect cause: return thread;
// expect interference: total += job->weight;

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct job {
    int number;
    int weight;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int started, total;

static void *work(void *arg)
{
    struct job *job = arg;

    pthread_mutex_lock(&lock);
    total += job->weight;
    pthread_mutex_unlock(&lock);
    return NULL;
}

// Within main the job would live as long as main does.
__attribute__((noinline)) static pthread_t start(int number)
{
    struct job job = {.number = number, .weight = 10 * number};
    pthread_t thread;

    pthread_create(&thread, NULL, work, &job);
    pthread_mutex_lock(&lock);
    started++;
    pthread_mutex_unlock(&lock);
    return thread;
}

static int shares(const int *of, int count)
{
    int part[8], sum = 0;

    for (int i = 0; i < 8; i++)
        part[i] = of[i % count] + 1;
    for (int i = 0; i < 8; i++)
        sum += part[i];
    return sum;
}

int main(void)
{
    static const int parts[] = {1, 2, 3};

    pthread_t thread = start(2);
    int sum = shares(parts, 3);
    pthread_join(thread, NULL);
    if (total != 20) {
        fprintf(stderr, "%d jobs weigh %d (%d)\n", started, total, sum);
        exit(1);
    }
    return 0;
}
