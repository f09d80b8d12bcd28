// A sorted list: one thread takes an element out while another one puts a new element behind it.
//
// What is wrong: neither takes a lock. The new element hangs on the one that has left.
//
// After the "list_seq" kernel of the literature on concurrent data structures.
//
// expect kind: atomicity-violation data-race
// expect cause: struct node *after = before->next->next;
// expect cause: before->next = after;
// expect cause: node->next = place->next;
// expect cause: place->next = node;
// expect interference: before->next = after;
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
static struct node middle = {4, &last};
static struct node first = {1, &middle};
static struct node added = {6, NULL};

static void remove_behind(struct node *before)
{
    struct node *after = before->next->next;
    before->next = after;
}

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

static void *take_out(void *arg)
{
    remove_behind(&first);
    return arg;
}

static void *put_in(void *arg)
{
    insert(&added);
    return arg;
}

int main(void)
{
    pthread_t threads[2];

    pthread_create(&threads[0], NULL, take_out, NULL);
    pthread_create(&threads[1], NULL, put_in, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    assert(contains(6));
    return 0;
}
