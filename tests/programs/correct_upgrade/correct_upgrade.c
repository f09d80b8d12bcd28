// A table of prices behind a lock for readers and writers. Who misses a name looks again as a writer, as
// another thread may have added it meanwhile.
//
// Nothing is wrong.
//
// expect no failure

#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { SLOTS = 4, CLIENTS = 3 };

static struct {
    pthread_rwlock_t lock;
    const char *names[SLOTS];
    int prices[SLOTS];
    int used;
} table = {.lock = PTHREAD_RWLOCK_INITIALIZER};

static int find(const char *name)
{
    for (int i = 0; i < table.used; i++)
        if (strcmp(table.names[i], name) == 0)
            return i;
    return -1;
}

static int add(const char *name)
{
    int slot = table.used++;
    table.names[slot] = name;
    table.prices[slot] = (int)strlen(name) * 100;
    return slot;
}

static int price_of(const char *name)
{
    pthread_rwlock_rdlock(&table.lock);
    int slot = find(name);
    if (slot < 0) {
        pthread_rwlock_unlock(&table.lock);
        pthread_rwlock_wrlock(&table.lock);
        slot = find(name);
        if (slot < 0)
            slot = add(name);
    }
    int price = table.prices[slot];
    pthread_rwlock_unlock(&table.lock);
    return price;
}

static void *ask(void *arg)
{
    const char *name = arg;
    int price = price_of(name);
    assert(price == (int)strlen(name) * 100);
    return NULL;
}

int main(void)
{
    char *names[CLIENTS] = {"pears", "figs", "pears"};
    pthread_t clients[CLIENTS];

    for (int i = 0; i < CLIENTS; i++)
        pthread_create(&clients[i], NULL, ask, names[i]);
    for (int i = 0; i < CLIENTS; i++)
        pthread_join(clients[i], NULL);
    printf("%d names\n", table.used);
    assert(table.used == 2);
    return 0;
}
