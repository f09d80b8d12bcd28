// Goods move between two shelves, in both directions at the same time.
//
// What is wrong: move() locks the shelf that the goods come from first. Two moves in opposite directions lock in opposite
// orders, and each can end up waiting for the other.
//
// expect kind: deadlock
// expect cause: g_mutex_lock(&to->lock);
// expect interference: g_mutex_lock(&from->lock);

#include <assert.h>
#include <glib.h>

typedef struct {
    GMutex lock;
    int boxes;
} Shelf;

static Shelf left = {.boxes = 5}, right = {.boxes = 5};

static void move(Shelf *from, Shelf *to, int boxes)
{
    g_mutex_lock(&from->lock);
    g_mutex_lock(&to->lock);
    from->boxes -= boxes;
    to->boxes += boxes;
    g_mutex_unlock(&to->lock);
    g_mutex_unlock(&from->lock);
}

static gpointer to_the_right(gpointer unused)
{
    (void)unused;
    move(&left, &right, 2);
    return NULL;
}

static gpointer to_the_left(gpointer unused)
{
    (void)unused;
    move(&right, &left, 1);
    return NULL;
}

int main(void)
{
    GThread *first = g_thread_new("to the right", to_the_right, NULL);
    GThread *second = g_thread_new("to the left", to_the_left, NULL);
    g_thread_join(first);
    g_thread_join(second);
    assert(left.boxes == 4 && right.boxes == 6);
    return 0;
}
