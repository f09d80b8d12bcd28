// A pool of blocks without a lock: free blocks form a list, and its head is exchanged atomically.
//
// What is wrong: take() reads the head and its successor, and exchanges the head if it is still the same.
// It is the same again when another thread has taken two blocks and given the first back: then the successor
// is in use, and becomes the head all the same.
//
// expect kind: multi-variable-atomicity-violation
// expect cause 1: int second = atomic_load(&pool.next[first]);
// expect cause 2: if (atomic_compare_exchange_strong(&pool.head, &first, second))
// expect interference: if (atomic_compare_exchange_strong(&pool.head, &first, second))
// expect interference: } while (!atomic_compare_exchange_strong(&pool.head, &head, block));
// expect interference: atomic_store(&pool.next[block], head);
// expect also: int first = atomic_load(&pool.head);
//
// still wrong: gcc -O0, gcc -O2, clang -O2

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

enum { BLOCKS = 4, NONE = -1 };

struct pool {
    atomic_int head;
    atomic_int next[BLOCKS];
};

static struct pool pool = {0, {1, 2, 3, NONE}};

static int take(void)
{
    for (;;) {
        int first = atomic_load(&pool.head);
        if (first == NONE)
            return NONE;
        int second = atomic_load(&pool.next[first]);
        if (atomic_compare_exchange_strong(&pool.head, &first, second))
            return first;
    }
}

static void give_back(int block)
{
    int head;
    do {
        head = atomic_load(&pool.head);
        atomic_store(&pool.next[block], head);
    } while (!atomic_compare_exchange_strong(&pool.head, &head, block));
}

static void *parse(void *arg)
{
    int *kept = arg;
    int scratch = take();
    *kept = take();
    give_back(scratch);
    return NULL;
}

static void *print(void *arg)
{
    int *kept = arg;
    kept[0] = take();
    kept[1] = take();
    return NULL;
}

int main(void)
{
    pthread_t parser, printer;
    int tree = NONE, pages[2] = {NONE, NONE};

    pthread_create(&parser, NULL, parse, &tree);
    pthread_create(&printer, NULL, print, pages);
    pthread_join(parser, NULL);
    pthread_join(printer, NULL);

    printf("tree in block %d, pages in %d and %d\n", tree, pages[0], pages[1]);
    assert(tree == NONE || (tree != pages[0] && tree != pages[1]));
    return 0;
}
