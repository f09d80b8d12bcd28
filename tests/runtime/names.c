/* Memory of every kind, and behind each access the name that its location must have. */
#include <pthread.h>
#include <stdlib.h>

struct node {
    int value;
    struct node *next;
};
struct account {
    pthread_mutex_t lock;
    long total;
    struct {
        int day, month;
    };
    union {
        int number;
        unsigned char bytes[4];
    } mixed;
    struct {
        unsigned open : 1, kind : 3;
        unsigned char rest;
    } bits;
};

int counter;
struct account acct[4];
int grid[2][3];
__thread int mine;
__thread struct node own;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ready = PTHREAD_COND_INITIALIZER;
struct node *list, *rows;

__attribute__((noinline)) int count(void) {
    static int calls;
    calls++; // W count::calls
    return calls;
}

__attribute__((noinline)) void fill(int *slot, struct node *on_stack) {
    *slot = 3; // W main.1:worker.local
    on_stack->value = 4; // W main.1:worker.node.value
}

static void *worker(void *argument) {
    int local = 0;
    struct node node = {0, NULL};
    counter++; // W counter
    acct[3].total = 5; // W acct[3].total
    acct[1].month = 6; // W acct[1].month
    acct[2].mixed.bytes[1] = 7; // W acct[2].mixed.bytes[1]
    acct[0].bits.kind = 2; // W acct[0].bits.open|kind
    acct[0].bits.rest = 2; // W acct[0].bits.rest
    grid[1][2] = 8; // W grid[1][2]
    mine = 9; // W main.1:thread_local.mine
    own.value = 10; // W main.1:thread_local.own.value
    fill(&local, &node);
    pthread_mutex_lock(&acct[2].lock); // L acct[2].lock
    pthread_mutex_unlock(&acct[2].lock);
    pthread_mutex_lock(&lock); // L lock
    pthread_cond_signal(&ready); // S ready
    pthread_mutex_unlock(&lock);
    struct node *first = malloc(sizeof *first);
    first->value = 11; // W heap(names.c:63 by main.1 #0).value
    first->next = argument; // W heap(names.c:63 by main.1 #0).next
    list = first; // W list
    struct node *many = calloc(3, sizeof(struct node));
    many[2].next = first; // W heap(names.c:67 by main.1 #0)[2].next
    acct[0].total = many[1].value;
    rows = many;
    acct[0].total = count() + local + node.value;
    return NULL;
}

int main(void) {
    pthread_t thread;
    mine = 1; // W main:thread_local.mine
    pthread_create(&thread, NULL, worker, NULL);
    pthread_join(thread, NULL);
    return list->value != 11;
}
