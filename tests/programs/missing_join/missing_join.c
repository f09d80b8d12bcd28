// Three threads sum up parts of a table; the last sum is made by a thread of its own.
//
// What is wrong: main() waits for the first helpers, and forgets the last one.
//
// expect kind: order-violation
// expect cause: grand += sums[i];
// expect interference: sums[part->number] = sum;

#include <assert.h>
#include <pthread.h>
#include <stdio.h>

enum { PARTS = 3, ROWS = 2 };

struct part {
    int number;
    int rows[ROWS];
};

static struct part parts[PARTS] = {{0, {1, 2}}, {1, {3, 4}}, {2, {5, 6}}};
static int sums[PARTS];

static void *sum_up(void *arg)
{
    struct part *part = arg;
    int sum = 0;
    for (int i = 0; i < ROWS; i++)
        sum += part->rows[i];
    sums[part->number] = sum;
    return NULL;
}

static int total(void)
{
    int grand = 0;
    for (int i = 0; i < PARTS; i++)
        grand += sums[i];
    return grand;
}

int main(void)
{
    pthread_t helpers[PARTS];

    for (int i = 0; i < PARTS; i++)
        pthread_create(&helpers[i], NULL, sum_up, &parts[i]);
    for (int i = 0; i < PARTS - 1; i++)
        pthread_join(helpers[i], NULL);

    int grand = total();
    printf("total %d\n", grand);
    assert(grand == 21);
    pthread_join(helpers[PARTS - 1], NULL);
    return 0;
}
