// A pool of objects in two stacks without locks, so that threads meet less often: an object is put into one
// of them by chance, and taking one out looks into both.
//
// What is wrong: a thread that has found the first stack empty goes on to the second one. In between another
// thread puts an object into the first and takes the one out of the second. The pool is called empty although
// there always was an object in it: taking out does not happen at one point in time.
//
// After Appendix B of "Error Invariants for Concurrent Traces" ("pool_simple_2"; two of Treiber's stacks).
//
// expect kind: atomicity-violation multi-variable-atomicity-violation
// expect cause: int old = atomic_load(&stack->top);
// expect cause: if (old == NONE)
// expect interference: while (!atomic_compare_exchange_strong(&stack->top, &top, node));
// expect interference: if (atomic_compare_exchange_strong(&stack->top, &old, below))

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

enum { NONE = -1, EMPTY = -1, STACKS = 2, NODES = 2 };

struct node {
    int value;
    int below;
};

struct stack {
    atomic_int top;
};

static struct node nodes[NODES];
static atomic_int nodes_used;
static struct stack stacks[STACKS] = {{NONE}, {NONE}};

static void push(struct stack *stack, int value)
{
    int node = atomic_fetch_add(&nodes_used, 1);
    int top = atomic_load(&stack->top);
    nodes[node].value = value;
    do
        nodes[node].below = top;
    while (!atomic_compare_exchange_strong(&stack->top, &top, node));
}

static int pop(struct stack *stack)
{
    for (;;) {
        int old = atomic_load(&stack->top);
        if (old == NONE)
            return EMPTY;
        int below = nodes[old].below;
        if (atomic_compare_exchange_strong(&stack->top, &old, below))
            return nodes[old].value;
    }
}

// Each thread draws numbers of its own.
static int draw(unsigned *chance)
{
    *chance = *chance * 5 + 3;
    return (int)(*chance / 8 % STACKS);
}

static void insert(unsigned *chance, int value)
{
    int at = draw(chance);
    push(&stacks[at], value);
}

static int take(unsigned *chance)
{
    int at = draw(chance);
    for (int i = 0; i < STACKS; i++) {
        int value = pop(&stacks[(at + i) % STACKS]);
        if (value != EMPTY)
            return value;
    }
    return EMPTY;
}

static void *insert_and_take(void *arg)
{
    unsigned chance = 3;
    insert(&chance, 1);
    take(&chance);
    return arg;
}

static void *insert_and_check(void *arg)
{
    unsigned chance = 2;
    insert(&chance, 2);
    if (take(&chance) == EMPTY) {
        int first = atomic_load(&stacks[0].top);
        int second = atomic_load(&stacks[1].top);
        assert(first == NONE && second == NONE);
    }
    return arg;
}

int main(void)
{
    pthread_t threads[2];

    pthread_create(&threads[0], NULL, insert_and_take, NULL);
    pthread_create(&threads[1], NULL, insert_and_check, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
