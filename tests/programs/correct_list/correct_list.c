// A sorted list with a lock in every node. Whoever walks along it holds the lock of the node before until it
// has the next one.
//
// Nothing is wrong.
//
// expect no failure

#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct node {
    pthread_mutex_t lock;
    int key;
    struct node *next;
};

static struct node head = {PTHREAD_MUTEX_INITIALIZER, 0, NULL};

static struct node *find_before(int key)
{
    struct node *before = &head;
    pthread_mutex_lock(&before->lock);
    struct node *node = before->next;
    while (node != NULL && node->key < key) {
        pthread_mutex_lock(&node->lock);
        pthread_mutex_unlock(&before->lock);
        before = node;
        node = node->next;
    }
    return before;
}

static void insert(int key)
{
    struct node *node = malloc(sizeof *node);
    if (node == NULL)
        abort();
    pthread_mutex_init(&node->lock, NULL);
    node->key = key;

    struct node *before = find_before(key);
    node->next = before->next;
    before->next = node;
    pthread_mutex_unlock(&before->lock);
}

static void delete(int key)
{
    struct node *before = find_before(key), *node = before->next;
    if (node != NULL && node->key == key) {
        pthread_mutex_lock(&node->lock);
        before->next = node->next;
        pthread_mutex_unlock(&node->lock);
        pthread_mutex_destroy(&node->lock);
        free(node);
    }
    pthread_mutex_unlock(&before->lock);
}

static void *add_two(void *arg)
{
    int *keys = arg;
    insert(keys[0]);
    insert(keys[1]);
    delete(keys[0]);
    return NULL;
}

int main(void)
{
    int odd[] = {1, 3}, even[] = {2, 4};
    pthread_t threads[2];

    pthread_create(&threads[0], NULL, add_two, odd);
    pthread_create(&threads[1], NULL, add_two, even);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);

    assert(head.next->key == 3 && head.next->next->key == 4);
    assert(head.next->next->next == NULL);
    delete(3);
    delete(4);
    printf("the list is %s\n", head.next == NULL ? "empty" : "not empty");
    return 0;
}
