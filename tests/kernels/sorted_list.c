// A sorted list: two threads put an element each into the same gap.
//
// What is wrong: whoever puts one in looks for the place first and hangs the element there later, without a lock.
// Of two elements of one place only the last one stays.
//
// After the "list_seq" kernel of the literature on concurrent data structures.
//
// expect kind: atomicity-violation
// expect cause: while (place->next && place->next->key < node->key)
// expect cause: node->next = place->next;
// expect cause: place->next = node;
// expect interference: place->next = node;

#include <assert.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

struct node {
    int key;
    struct node *next;
};

static struct node last = {9, NULL};
static struct node first = {1, &last};
static struct node added[2] = {{4, NULL}, {6, NULL}};

static void insert(struct node *node)
{
    struct node *place = &first;
    while (place->next && place->next->key < node->key)
        place = place->next;
    node->next = place->next;
    place->next = node;
}

static bool contains(int key)
{
    struct node *node = &first;
    while (node && node->key < key)
        node = node->next;
    return node && node->key == key;
}

static void *put_in(void *arg)
{
    insert(arg);
    return NULL;
}

int main(void)
{
    pthread_t threads[2];

    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, put_in, &added[i]);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    bool both = contains(4) && contains(6);
    assert(both);
    return 0;
}
