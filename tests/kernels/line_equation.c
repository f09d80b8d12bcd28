// A line through two points: one thread moves it up, another one works out its slope.
//
// What is wrong: both ends are moved one after the other without a lock. The slope is that of a line that
// never was.
//
// After "lineEq" of the literature on concurrency benchmarks.
//
// expect kind: atomicity-violation multi-variable-atomicity-violation
// expect cause: left_y += by;
// expect cause: right_y += by;
// expect cause: int rise = right_y - left_y;
// expect interference: left_y += by;
// expect interference: right_y += by;
// expect interference: int rise = right_y - left_y;

#include <assert.h>
#include <pthread.h>

static int left_x = 1, left_y = 3;
static int right_x = 3, right_y = 7;
static int slope = 2;

static void move_up(int by)
{
    left_y += by;
    right_y += by;
}

static void *move(void *arg)
{
    move_up(4);
    return arg;
}

static void *measure(void *arg)
{
    int rise = right_y - left_y;
    slope = rise / (right_x - left_x);
    return arg;
}

int main(void)
{
    pthread_t threads[2];

    pthread_create(&threads[0], NULL, move, NULL);
    pthread_create(&threads[1], NULL, measure, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    assert(slope == 2);
    return 0;
}
