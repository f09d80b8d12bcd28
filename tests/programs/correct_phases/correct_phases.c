// A running sum in parallel: two barriers keep the phases of each step apart, reading and storing.
//
// Nothing is wrong.
//
// expect no failure

#include <assert.h>
#include <pthread.h>
#include <stdio.h>

enum { VALUES = 3 };

static int values[VALUES] = {1, 2, 3};
static int last_step;
static pthread_barrier_t have_read, have_stored;

static void step(int number, int distance)
{
    int other = number >= distance ? values[number - distance] : 0;
    pthread_barrier_wait(&have_read);
    values[number] += other;
    if (pthread_barrier_wait(&have_stored) == PTHREAD_BARRIER_SERIAL_THREAD)
        last_step = distance;
}

static void *add_up(void *arg)
{
    int *number = arg;
    for (int distance = 1; distance < VALUES; distance *= 2)
        step(*number, distance);
    return NULL;
}

int main(void)
{
    pthread_t threads[VALUES];
    int numbers[VALUES];

    pthread_barrier_init(&have_read, NULL, VALUES);
    pthread_barrier_init(&have_stored, NULL, VALUES);
    for (int i = 0; i < VALUES; i++) {
        numbers[i] = i;
        pthread_create(&threads[i], NULL, add_up, &numbers[i]);
    }
    for (int i = 0; i < VALUES; i++)
        pthread_join(threads[i], NULL);

    printf("%d %d %d after step %d\n", values[0], values[1], values[2], last_step);
    assert(values[0] == 1 && values[1] == 3 && values[2] == 6);
    return 0;
}
