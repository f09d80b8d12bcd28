// A window's left edge, width and right edge: the right edge is always left plus width.
//
// What is wrong: move() changes the three one after the other, each under the lock, and a repaint can see
// some of them new and some of them old.
//
// expect kind: multi-variable-atomicity-violation
// expect also: set(&window.left, left);
// expect also: set(&window.width, width);
// expect also: set(&window.right, left + width);
// expect interference: int left = window.left;
// expect interference: int width = window.width;
// expect interference: int right = window.right;
// expect cause: *edge = value;

#include <assert.h>
#include <pthread.h>
#include <stdio.h>

struct window {
    pthread_mutex_t lock;
    int left, width, right;
};

static struct window window = {PTHREAD_MUTEX_INITIALIZER, 10, 200, 210};

static void set(int *edge, int value)
{
    pthread_mutex_lock(&window.lock);
    *edge = value;
    pthread_mutex_unlock(&window.lock);
}

static void move(int left, int width)
{
    set(&window.left, left);
    set(&window.width, width);
    set(&window.right, left + width);
}

static void *drag(void *arg)
{
    move(30, 250);
    return arg;
}

static void repaint(void)
{
    pthread_mutex_lock(&window.lock);
    int left = window.left;
    int width = window.width;
    int right = window.right;
    pthread_mutex_unlock(&window.lock);
    printf("from %d to %d, %d wide\n", left, right, width);
    assert(right == left + width);
}

int main(void)
{
    pthread_t mouse;

    pthread_create(&mouse, NULL, drag, NULL);
    repaint();
    pthread_join(mouse, NULL);
    return 0;
}
