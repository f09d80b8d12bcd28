// Prices by name, read often and extended seldom, behind a lock for readers and writers.
//
// What is wrong: price_of() looks for the name as a reader, lets go of the lock, and adds the name as a
// writer without looking again. Two threads add the same name.
//
// expect kind: atomicity-violation
// expect cause 1: for (int i = 0; i < table.used; i++)
// expect cause 2: int slot = table.used++;
// expect interference: int slot = table.used++;
// expect also: table.entries[slot].name = name;

#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { SLOTS = 8, CLIENTS = 2 };

struct entry {
    const char *name;
    int price;
};

static struct {
    pthread_rwlock_t lock;
    struct entry entries[SLOTS];
    int used;
} table = {.lock = PTHREAD_RWLOCK_INITIALIZER};

static int find(const char *name)
{
    for (int i = 0; i < table.used; i++)
        if (strcmp(table.entries[i].name, name) == 0)
            return i;
    return -1;
}

static int add(const char *name, int price)
{
    int slot = table.used++;
    table.entries[slot].name = name;
    table.entries[slot].price = price;
    return slot;
}

static int price_of(const char *name)
{
    pthread_rwlock_rdlock(&table.lock);
    int slot = find(name);
    int price = slot < 0 ? 0 : table.entries[slot].price;
    pthread_rwlock_unlock(&table.lock);
    if (slot >= 0)
        return price;

    price = (int)strlen(name) * 100;
    pthread_rwlock_wrlock(&table.lock);
    add(name, price);
    pthread_rwlock_unlock(&table.lock);
    return price;
}

static void *ask(void *arg)
{
    price_of("apples");
    return arg;
}

int main(void)
{
    pthread_t clients[CLIENTS];

    for (int i = 0; i < CLIENTS; i++)
        pthread_create(&clients[i], NULL, ask, NULL);
    for (int i = 0; i < CLIENTS; i++)
        pthread_join(clients[i], NULL);
    printf("%d names\n", table.used);
    assert(table.used == 1);
    return 0;
}
